//! The store: one etcd member on a loopback port, with TLS both ways, so that a stranger's etcd on the same port can
//! never be taken for ours.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::certificates::Authority;
use crate::error::Error;
use crate::folder::Folder;
use crate::ports::free_port;
use crate::process::Process;

const START_LIMIT: Duration = Duration::from_secs(30);
const PORT_TRIES: u32 = 5;

/// A running etcd and how to reach it.
#[derive(Debug)]
pub(crate) struct Etcd {
    pub(crate) process: Process,
    pub(crate) url: String,
    pub(crate) client_certificate: PathBuf,
    pub(crate) client_key: PathBuf,
}

impl Etcd {
    pub(crate) async fn start(
        program: &Path,
        folder: &Folder,
        authority: &Authority,
        ca_file: &Path,
    ) -> Result<Self, Error> {
        let server = authority.server("etcd")?;
        let certificate = folder.write_internal("etcd.crt", &server.certificate_pem)?;
        let key = folder.write_internal("etcd.key", &server.key_pem)?;
        let client = authority.client("kube-apiserver", None)?;
        let client_certificate =
            folder.write_internal("etcd-client.crt", &client.certificate_pem)?;
        let client_key = folder.write_internal("etcd-client.key", &client.key_pem)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let url = format!("https://127.0.0.1:{}", free_port()?);
            let arguments = arguments(folder, &url, ca_file, &certificate, &key);
            let mut process = Process::spawn("etcd", program, &arguments, &folder.log("etcd"))?;
            let log = folder.log("etcd");
            match process.wait_ready(START_LIMIT, || serving(&log)).await {
                Ok(()) => {
                    return Ok(Self { process, url, client_certificate, client_key });
                }
                Err(Error::Exited { .. }) if process.lost_its_port() && tries < PORT_TRIES => {
                    drop(process);
                    // The lines about the lost port must not be read again.
                    folder.write("logs/etcd.log", "")?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The API server retries until etcd answers, so a word in the log is enough to go on and start it.
async fn serving(log: &Path) -> Result<(), String> {
    let text = tokio::fs::read_to_string(log).await.map_err(|error| error.to_string())?;
    let ready = text.contains("ready to serve client requests");
    if ready { Ok(()) } else { Err("its log does not say that it serves clients".to_owned()) }
}

fn arguments(
    folder: &Folder,
    url: &str,
    ca: &Path,
    certificate: &Path,
    key: &Path,
) -> Vec<OsString> {
    let path = |flag: &str, path: &Path| {
        let mut argument = OsString::from(flag);
        argument.push(path);
        argument
    };
    vec![
        path("--data-dir=", &folder.internal("etcd")),
        format!("--listen-client-urls={url}").into(),
        format!("--advertise-client-urls={url}").into(),
        // One member never talks to a peer; port 0 lets the system choose.
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        path("--cert-file=", certificate),
        path("--key-file=", key),
        path("--trusted-ca-file=", ca),
        "--client-cert-auth=true".into(),
        // The data dies with the process, so nothing is gained by waiting for a disk.
        "--unsafe-no-fsync=true".into(),
        "--quota-backend-bytes=4294967296".into(),
        "--log-level=info".into(),
    ]
}
