use super::*;

fn read(text: &str) -> Result<ClusterSettings, serde_json::Error> {
    ClusterSettings::read(&RawValue::from_string(text.to_owned()).unwrap())
}

#[test]
fn reads_openshift_platform_status() {
    let settings = read(
        r#"{"type": "AWS", "aws": {"region": "us-east-2", "ipFamily": "DualStackIPv6Primary",
            "resourceTags": [{"key": "a", "value": "b"}],
            "serviceEndpoints": [{"name": "ec2", "url": "https://x"},
                {"name": "elasticloadbalancing", "url": "https://y"}]}}"#,
    );
    let settings = settings.unwrap();
    let tags: Vec<_> = settings.resource_tags().collect();
    assert_eq!(tags, [(&"a".to_owned(), &"b".to_owned())]);
    assert_eq!(settings.ip_family(), IpFamily::DualStackIpv6Primary);
    assert_eq!(settings.endpoint("elasticloadbalancing"), Some("https://y"));
    assert_eq!((settings.endpoint("ec2"), settings.endpoint("sts")), (Some("https://x"), None));
    for nothing in ["{}", r#"{"type": "AWS", "aws": null}"#, r#"{"aws": {"resourceTags": null}}"#] {
        assert_eq!(read(nothing).unwrap(), ClusterSettings::default(), "{nothing}");
    }
}

#[test]
fn unreadable_settings_are_an_error() {
    for text in [r#"{"aws": {"ipFamily": "IPv9"}}"#, r#"{"aws": {"resourceTags": [1]}}"#, "1"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn fuzz_platform_status() -> anyhow::Result<()> {
    let sample = r#"{"type": "AWS", "aws": {"region": "us-east-2", "ipFamily": "DualStackIPv6Primary",
        "resourceTags": [{"key": "a", "value": "b"}],
        "serviceEndpoints": [{"name": "ec2", "url": "https://x"}]}}"#;
    machinist_testbed::fuzz::feed(&[sample], |bytes| {
        let Ok(status) = serde_json::from_slice::<Box<RawValue>>(bytes) else { return };
        if let Ok(settings) = ClusterSettings::read(&status) {
            let parts = (settings.resource_tags().count(), settings.ip_family());
            machinist_testbed::fuzz::done((parts, settings.endpoint("ec2")));
        }
    })
}
