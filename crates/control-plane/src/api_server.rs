//! kube-apiserver: its flags, starting it, waiting until it is of use.
//!
//! It can be stopped and started again on the same port while etcd keeps the data. RBAC and the audit log are always
//! on. The `ServiceAccount` admission plugin is off, because without a controller manager no namespace has a
//! `default` account and every pod would be refused.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use crate::audit::AUDIT_POLICY;
use crate::certificates::{Authority, TokenKeys};
use crate::error::Error;
use crate::etcd::Etcd;
use crate::folder::Folder;
use crate::process::Process;

/// Five seconds on an idle machine; builds running beside it make it slow.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(2);
const STOP_LIMIT: Duration = Duration::from_secs(15);
const PROBE_LIMIT: Duration = Duration::from_secs(3);

/// What does not change between two starts.
#[derive(Debug)]
pub(crate) struct ApiServer {
    program: PathBuf,
    arguments: Vec<OsString>,
    log: PathBuf,
    process: Option<Process>,
}

impl ApiServer {
    /// Writes the files that it needs and prepares the command line; starts nothing.
    pub(crate) fn prepare(
        program: PathBuf,
        folder: &Folder,
        authority: &Authority,
        ca_file: &Path,
        token_keys: &TokenKeys,
        etcd: &Etcd,
    ) -> Result<Self, Error> {
        let server = authority.server("kube-apiserver")?;
        let file = |flag: &str, name: &str, content: &str| -> Result<OsString, Error> {
            Ok(path_flag(flag, &folder.write_internal(name, content)?))
        };
        let arguments = vec![
            path_flag("--cert-dir", &folder.internal("api-server")),
            file("--tls-cert-file", "api-server.crt", &server.certificate_pem)?,
            file("--tls-private-key-file", "api-server.key", &server.key_pem)?,
            path_flag("--client-ca-file", ca_file),
            format!("--etcd-servers={}", etcd.url).into(),
            path_flag("--etcd-cafile", ca_file),
            path_flag("--etcd-certfile", &etcd.client_certificate),
            path_flag("--etcd-keyfile", &etcd.client_key),
            "--bind-address=127.0.0.1".into(),
            // Without a default route it cannot find an address by itself.
            "--advertise-address=127.0.0.1".into(),
            "--authorization-mode=RBAC".into(),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            file("--service-account-signing-key-file", "tokens.key", &token_keys.private_pem)?,
            file("--service-account-key-file", "tokens.pub", &token_keys.public_pem)?,
            "--disable-admission-plugins=ServiceAccount".into(),
            file("--audit-policy-file", "audit-policy.yaml", AUDIT_POLICY)?,
            path_flag("--audit-log-path", &folder.path("audit.log")),
            // Entries are written one by one as requests end, none is dropped, and the file is never rotated away.
            "--audit-log-mode=blocking".into(),
            "--audit-log-maxsize=100000".into(),
            // An open watch would otherwise keep it from ending for a minute.
            "--shutdown-watch-termination-grace-period=1s".into(),
        ];
        let log = folder.log("kube-apiserver");
        Ok(Self { program, arguments, log, process: None })
    }

    /// Flags of the caller come last, where they win.
    pub(crate) fn add_flags(&mut self, flags: &[String]) {
        self.arguments.extend(flags.iter().map(OsString::from));
    }

    /// Starts it on the given port and waits until `client` can work. Does nothing when it is running.
    pub(crate) async fn start(&mut self, port: u16, client: &Client) -> Result<(), Error> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut arguments = self.arguments.clone();
        arguments.push(format!("--secure-port={port}").into());
        let mut process = Process::spawn("kube-apiserver", &self.program, &arguments, &self.log)?;
        process.wait_ready(START_LIMIT, || ready(client)).await?;
        self.process = Some(process);
        Ok(())
    }

    /// Stops it; etcd and the data stay.
    pub(crate) async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(STOP_LIMIT).await;
        }
    }

    /// Stops it without a chance to say goodbye.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }
}

pub(crate) fn path_flag(flag: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(flag);
    argument.push("=");
    argument.push(path);
    argument
}

/// `/readyz` includes the bootstrap of RBAC; the namespace `default` comes a moment later.
async fn ready(client: &Client) -> Result<(), String> {
    healthy(client, "/readyz").await?;
    let namespaces = Api::<Namespace>::all(client.clone());
    limited(namespaces.get("default")).await.map(drop)
}

/// A health check that must answer 200.
pub(crate) async fn healthy(client: &Client, path: &str) -> Result<(), String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    limited(client.request_text(request)).await.map(drop)
}

/// A probe must not hang on a server that accepts but does not answer.
async fn limited<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, String> {
    tokio::time::timeout(PROBE_LIMIT, call)
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|error| error.to_string())
}
