//! Requests over TLS to a server whose certificate is returned and not verified.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::http::{LIMIT, exchange};

#[derive(Debug, Clone)]
pub struct Answer {
    pub code: u16,
    pub body: String,
    /// DER.
    pub certificate: Vec<u8>,
}

pub async fn get(address: SocketAddr, path: &str, token: Option<&str>) -> Result<Answer> {
    let request = async { send(connect(address, rustls::ALL_VERSIONS).await?, path, token).await };
    tokio::time::timeout(LIMIT, request).await.context("no answer in time")?
}

/// Offers only these versions of TLS.
pub async fn connect(
    address: SocketAddr,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.context("TLS")
}

pub async fn send(
    mut stream: TlsStream<TcpStream>,
    path: &str,
    token: Option<&str>,
) -> Result<Answer> {
    let certificates = stream.get_ref().1.peer_certificates().context("no certificate")?;
    let certificate = certificates.first().context("no certificate")?.to_vec();
    let header = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let (code, body) = exchange(&mut stream, path, &header.unwrap_or_default()).await?;
    Ok(Answer { code, body, certificate })
}

#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
