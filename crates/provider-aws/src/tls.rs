//! The HTTP client: rustls with aws-lc-rs, system roots, a custom CA bundle, and proxies from the environment.
//!
//! The SDK panics on a certificate that it cannot parse, so only valid ones are passed on.

use std::sync::Arc;

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::errors::AwsError;
use crate::messages;

/// The latest HTTP client, shared to keep connections and parsed roots.
#[derive(Debug, Default)]
pub(crate) struct HttpClients {
    newest: Mutex<Option<(Option<Arc<str>>, SharedHttpClient)>>,
}

impl HttpClients {
    pub(crate) fn trusting(&self, bundle: Option<&Arc<str>>) -> Result<SharedHttpClient, AwsError> {
        let mut newest = self.newest.lock();
        if let Some((trusted, client)) = newest.as_ref()
            && trusted.as_ref() == bundle
        {
            return Ok(client.clone());
        }
        let client = client(bundle.map(|pem| usable(pem)).transpose()?);
        *newest = Some((bundle.cloned(), client.clone()));
        Ok(client)
    }
}

fn client(extra: Option<String>) -> SharedHttpClient {
    let mut roots = TrustStore::default();
    if let Some(pem) = extra {
        roots = roots.with_pem_certificate(pem);
    }
    // A function, because only a connector's builder supports proxies.
    Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = Connector::builder()
            .proxy_config(ProxyConfig::from_env())
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc));
        if let Ok(context) = TlsContext::builder().with_trust_store(roots.clone()).build() {
            connector = connector.tls_context(context);
        }
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}

fn usable(bundle: &str) -> Result<String, AwsError> {
    let mut roots = RootCertStore::empty();
    let mut pem = String::new();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()).flatten() {
        if roots.add(certificate.clone()).is_ok() {
            pem.push_str("-----BEGIN CERTIFICATE-----\n");
            pem.push_str(&STANDARD.encode(&certificate));
            pem.push_str("\n-----END CERTIFICATE-----\n");
        }
    }
    if pem.is_empty() {
        return Err(AwsError::invalid_access(messages::NO_CERTIFICATE));
    }
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_testbed::aws::Authority;

    #[test]
    fn invalid_certificates_are_dropped() {
        let authority = Authority::new().unwrap();
        let good = authority.ca_pem();
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let kept = usable(&format!("# comment\n{nonsense}{good}")).unwrap();
        let ders = |pem: &str| -> Vec<CertificateDer<'static>> {
            CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
        };
        assert_eq!(ders(&kept), ders(good));
        for empty in ["", "hello", nonsense, "-----BEGIN CERTIFICATE-----\nAA"] {
            let error = usable(empty).unwrap_err();
            assert_eq!(error.to_string(), messages::NO_CERTIFICATE, "{empty}");
        }
    }
}
