//! The certificate of a server: `tls.crt` and `tls.key` in a folder, as a Secret of the type kubernetes.io/tls is
//! mounted, or a self-signed one that exists in memory only.
//!
//! A mounted Secret is replaced at any time. The files are read again when a connection is accepted, at most once per
//! interval, so an unused server reads nothing. The previous certificate is used until the new files can be read and
//! fit each other: they may be replaced between two reads.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use sha2::{Digest, Sha256};

use crate::clock::SharedClock;
use crate::messages;

/// The names of cert-manager, of OpenShift's service CA, and of every Secret of the type kubernetes.io/tls.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// Nothing verifies a self-signed certificate.
const SELF_SIGNED_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("{}", messages::cannot_read_certificate(.0, .1))]
    Read(PathBuf, io::Error),
    #[error("{}", messages::bad_certificate(.0, .1))]
    Unusable(PathBuf, String),
    #[error("{}", messages::cannot_self_sign(.0))]
    SelfSigned(String),
}

/// The certificate of a server.
#[derive(Debug)]
pub(crate) struct Certificate {
    current: Mutex<Arc<ServerConfig>>,
    files: Option<Files>,
}

#[derive(Debug)]
struct Files {
    folder: PathBuf,
    clock: SharedClock,
    interval: Duration,
    last: tokio::sync::Mutex<Last>,
}

#[derive(Debug)]
struct Last {
    /// The uptime.
    read: Duration,
    /// Of the files that are in use. The key itself is only where it is used.
    digest: [u8; 32],
}

impl Certificate {
    /// The certificate in this folder.
    pub(crate) async fn of_files(
        folder: &Path,
        clock: SharedClock,
        interval: Duration,
    ) -> Result<Self, CertificateError> {
        let pair = Pair::read(folder).await?;
        let last = Last { read: clock.uptime(), digest: pair.digest() };
        let current = Mutex::new(pair.config(folder)?);
        let (folder, last) = (folder.to_owned(), tokio::sync::Mutex::new(last));
        Ok(Self { current, files: Some(Files { folder, clock, interval, last }) })
    }

    /// A new self-signed certificate.
    pub(crate) fn self_signed() -> Result<Self, CertificateError> {
        let names = SELF_SIGNED_NAMES.map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| CertificateError::SelfSigned(error.to_string()))?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = config(vec![made.cert.der().clone()], key.into());
        let config = config.map_err(|error| CertificateError::SelfSigned(error.to_string()))?;
        Ok(Self { current: Mutex::new(config), files: None })
    }

    /// For a new connection.
    pub(super) async fn current(&self) -> Arc<ServerConfig> {
        if let Some(files) = &self.files {
            match files.changed().await {
                Ok(None) => {}
                Ok(Some(changed)) => {
                    tracing::info!("{}", messages::certificate_reloaded(&files.folder));
                    *self.current.lock() = changed;
                }
                Err(error) => tracing::warn!("{}", messages::previous_certificate(&error)),
            }
        }
        self.current.lock().clone()
    }
}

impl Files {
    /// A changed certificate. Other connections do not wait for it.
    async fn changed(&self) -> Result<Option<Arc<ServerConfig>>, CertificateError> {
        let Ok(mut last) = self.last.try_lock() else { return Ok(None) };
        let now = self.clock.uptime();
        if now.saturating_sub(last.read) < self.interval {
            return Ok(None);
        }
        last.read = now;
        let pair = Pair::read(&self.folder).await?;
        let digest = pair.digest();
        if digest == last.digest {
            return Ok(None);
        }
        let config = pair.config(&self.folder)?;
        last.digest = digest;
        Ok(Some(config))
    }
}

/// The content of the files.
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    async fn read(folder: &Path) -> Result<Self, CertificateError> {
        let read = async |name| {
            let path = folder.join(name);
            tokio::fs::read(&path).await.map_err(|error| CertificateError::Read(path, error))
        };
        Ok(Self { certificate: read(CERTIFICATE).await?, key: read(KEY).await? })
    }

    fn digest(&self) -> [u8; 32] {
        let certificate = Sha256::digest(&self.certificate);
        Sha256::new().chain_update(certificate).chain_update(&self.key).finalize().into()
    }

    fn config(&self, folder: &Path) -> Result<Arc<ServerConfig>, CertificateError> {
        let unusable = |name: &str, why: String| CertificateError::Unusable(folder.join(name), why);
        let chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(CERTIFICATE, error.to_string()))?;
        if chain.is_empty() {
            return Err(unusable(CERTIFICATE, messages::NO_CERTIFICATE.to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| unusable(KEY, error.to_string()))?;
        config(chain, key).map_err(|error| unusable(CERTIFICATE, error.to_string()))
    }
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Clients keep their connection, so sessions to resume would only use memory.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
