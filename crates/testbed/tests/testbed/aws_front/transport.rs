//! TLS with a private CA.

use std::sync::Arc;

use http::StatusCode;
use machinist_testbed::aws::{Authority, AwsBed, Transport};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::aws_front::client::Client;
use crate::aws_front::moto;

fn trusting(ca_pem: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn the_private_ca_is_needed_and_enough() {
    let transport = Transport::Tls(Authority::new().unwrap());
    let bed = AwsBed::start_before(moto().await, transport).await.unwrap();
    assert!(bed.endpoint_url().starts_with("https://127.0.0.1:"));
    let mut client = Client::new(&bed, "ap-east-1");

    client.tls = Some(trusting(bed.ca_pem().unwrap()));
    let answer = client.ec2("DescribeRegions", &[]).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");

    let stranger = Authority::new().unwrap();
    client.tls = Some(trusting(stranger.ca_pem()));
    let call = client.try_call("ec2", "DescribeRegions", &[]);
    let error = format!("{:#}", call.await.unwrap_err());
    assert!(error.contains("invalid peer certificate"), "{error}");

    client.tls = None;
    let plain = client.try_call("ec2", "DescribeRegions", &[]).await;
    assert!(plain.is_err(), "{plain:?}");
    assert_eq!(bed.front().calls().len(), 1);
}

#[tokio::test]
async fn a_plain_front_has_no_ca() {
    let bed = AwsBed::start_before(moto().await, Transport::Plain).await;
    let bed = bed.unwrap();
    assert!(bed.endpoint_url().starts_with("http://127.0.0.1:"));
    assert_eq!(bed.ca_pem(), None);
}
