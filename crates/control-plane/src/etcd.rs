//! One etcd member on a loopback port, with TLS both ways, so that no other etcd on the port is taken for ours.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::api_server::path_flag;
use crate::certificates::Authority;
use crate::folder::Folder;
use crate::messages;
use crate::process::{Process, on_free_port};

const START_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Etcd {
    _process: Process,
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
    ) -> Result<Self> {
        let server = authority.server("etcd")?;
        let certificate = folder.write_internal("etcd.crt", &server.certificate_pem)?;
        let key = folder.write_internal("etcd.key", &server.key_pem)?;
        let client = authority.client("kube-apiserver", None)?;
        let client_certificate =
            folder.write_internal("etcd-client.crt", &client.certificate_pem)?;
        let client_key = folder.write_internal("etcd-client.key", &client.key_pem)?;
        let (url, process) = on_free_port(async |port| {
            let url = format!("https://127.0.0.1:{port}");
            let arguments: Vec<OsString> = vec![
                path_flag("--data-dir", &folder.internal("etcd")),
                format!("--listen-client-urls={url}").into(),
                format!("--advertise-client-urls={url}").into(),
                // One member never talks to a peer; port 0 lets the system choose.
                "--listen-peer-urls=http://127.0.0.1:0".into(),
                path_flag("--cert-file", &certificate),
                path_flag("--key-file", &key),
                path_flag("--trusted-ca-file", ca_file),
                "--client-cert-auth=true".into(),
                // The data dies with the process, so nothing is gained by waiting for a disk.
                "--unsafe-no-fsync=true".into(),
                "--quota-backend-bytes=4294967296".into(),
                "--log-level=info".into(),
            ];
            let mut process = Process::spawn("etcd", program, &arguments, folder)?;
            process.wait_ready(START_LIMIT, async || serving(folder).await).await?;
            Ok((url, process))
        })
        .await?;
        Ok(Self { _process: process, url, client_certificate, client_key })
    }
}

/// The API server retries until etcd answers, so a line in the log is enough to go on and start it.
async fn serving(folder: &Folder) -> Result<()> {
    let text = tokio::fs::read_to_string(folder.root().join("logs/etcd.log")).await?;
    let ready = text.contains("ready to serve client requests");
    ensure!(ready, messages::NOT_SERVING);
    Ok(())
}
