//! A private CA for one test run, and the server certificate that it signs. The keys never leave memory.

use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

#[derive(Clone, Debug)]
pub struct Authority {
    ca_pem: String,
    server: Arc<ServerConfig>,
}

impl Authority {
    pub fn new() -> Result<Self> {
        let mut ca = CertificateParams::default();
        ca.distinguished_name.push(DnType::CommonName, "machinist test CA");
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut leaf = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        leaf.distinguished_name.push(DnType::CommonName, "machinist AWS front");
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let leaf = leaf.signed_by(&key, &ca)?;

        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .context("the certificate of the AWS front was refused")?;
        Ok(Self { ca_pem: ca.pem(), server: Arc::new(server) })
    }

    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }
}
