//! kube-apiserver: its flags, starting it, waiting until it can be used. It can be stopped and started again on the
//! same port while etcd keeps the data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use rcgen::KeyPair;

use crate::certificates::Authority;
use crate::etcd::Etcd;
use crate::folder::Folder;
use crate::messages;
use crate::process::Process;

/// Five seconds on an idle machine; builds running beside it make it slow.
const START_LIMIT: Duration = Duration::from_mins(2);
const STOP_LIMIT: Duration = Duration::from_secs(15);
const PROBE_LIMIT: Duration = Duration::from_secs(3);

/// Everything, without bodies. `RequestReceived` would double the number of lines without the outcome.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

pub(crate) struct ApiServer {
    program: PathBuf,
    arguments: Vec<OsString>,
    process: Option<Process>,
}

impl ApiServer {
    /// Writes the files that it needs and prepares the command line; starts nothing.
    pub(crate) fn prepare(
        program: PathBuf,
        folder: &Folder,
        authority: &Authority,
        ca_file: &Path,
        etcd: &Etcd,
        extra_flags: Vec<String>,
    ) -> Result<Self> {
        let server = authority.server("kube-apiserver")?;
        let tokens = KeyPair::generate()?;
        let file = |flag: &str, name: &str, content: &str| -> Result<OsString> {
            Ok(path_flag(flag, &folder.write_internal(name, content)?))
        };
        let mut arguments = vec![
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
            file("--service-account-signing-key-file", "tokens.key", &tokens.serialize_pem())?,
            file("--service-account-key-file", "tokens.pub", &tokens.public_key_pem())?,
            // Without a controller manager no namespace has a `default` account, and every pod would be refused.
            "--disable-admission-plugins=ServiceAccount".into(),
            file("--audit-policy-file", "audit-policy.yaml", AUDIT_POLICY)?,
            path_flag("--audit-log-path", &folder.root().join("audit.log")),
            // Entries are written one by one as requests end, none is dropped, and the file is never rotated away.
            "--audit-log-mode=blocking".into(),
            "--audit-log-maxsize=100000".into(),
            // An open watch would otherwise keep it from ending for a minute.
            "--shutdown-watch-termination-grace-period=1s".into(),
        ];
        // The last of two flags wins.
        arguments.extend(extra_flags.into_iter().map(OsString::from));
        Ok(Self { program, arguments, process: None })
    }

    /// Starts it on the given port and waits until `client` can work. Does nothing when it is running.
    pub(crate) async fn start(
        &mut self,
        port: u16,
        client: &Client,
        folder: &Folder,
    ) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut arguments = self.arguments.clone();
        arguments.push(format!("--secure-port={port}").into());
        let mut process = Process::spawn("kube-apiserver", &self.program, &arguments, folder)?;
        process.wait_ready(START_LIMIT, async || ready(client).await).await?;
        self.process = Some(process);
        Ok(())
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(STOP_LIMIT).await;
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process = None;
    }
}

pub(crate) fn path_flag(flag: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(flag);
    argument.push("=");
    argument.push(path);
    argument
}

/// `/readyz` includes the bootstrap of RBAC; the namespace `default` comes a moment later. A probe must not hang on a
/// server that accepts but does not answer.
async fn ready(client: &Client) -> Result<()> {
    let probe = async {
        client.request_text(http::Request::get("/readyz").body(Vec::new())?).await?;
        Api::<Namespace>::all(client.clone()).get("default").await?;
        Ok(())
    };
    let answer = tokio::time::timeout(PROBE_LIMIT, probe).await;
    answer.with_context(|| messages::no_answer("/readyz", PROBE_LIMIT))?
}
