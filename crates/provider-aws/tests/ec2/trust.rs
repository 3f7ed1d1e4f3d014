//! TLS trust.

use machinist_domain::retry::Category;
use machinist_provider::access::CloudAccess;
use machinist_testbed::aws::{Authority, Transport};

use crate::support::{Fixture, TYPES, access, bed_with};

#[tokio::test]
async fn only_the_custom_ca_is_trusted() {
    let authority = Authority::new().unwrap();
    let bed = bed_with(Transport::Tls(authority)).await;
    let fixture = Fixture::new();
    let stranger = access(&bed.endpoint_url());
    let failure = fixture.failure(&stranger, "m5.large").await;
    assert_eq!(failure.category, Category::Unavailable, "{failure:?}");
    assert!(failure.message.to_lowercase().contains("certificate"), "{failure:?}");
    assert!(bed.front().calls_of(TYPES).is_empty());

    let other = Authority::new().unwrap();
    let trusting = |pem: &str| CloudAccess { ca_bundle: Some(pem.into()), ..stranger.clone() };
    let failure = fixture.failure(&trusting(other.ca_pem()), "m5.large").await;
    assert_eq!(failure.category, Category::Unavailable, "{failure:?}");

    // As in practice: comments, several certificates, one that is invalid.
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let bundle = format!("# CAs\n{}{broken}{}", other.ca_pem(), bed.ca_pem().unwrap());
    fixture.capacity(&trusting(&bundle), "m5.large").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 1);
}

#[tokio::test]
async fn bundle_without_certificates_is_invalid_configuration() {
    let fixture = Fixture::new();
    let access = CloudAccess { ca_bundle: Some("hello".into()), ..access("https://127.0.0.1:1") };
    let failure = fixture.failure(&access, "m5.large").await;
    assert_eq!(failure.category, Category::InvalidConfiguration);
    assert!(failure.message.contains("CA bundle"), "{failure:?}");
}
