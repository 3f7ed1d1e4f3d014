use super::*;

/// Reads one kind of one group, and returns its name as the instance type.
#[derive(Debug)]
struct One(&'static str, [SpecKind; 1]);

fn one(name: &'static str, group: &'static str, kind: &'static str) -> Arc<dyn Provider> {
    Arc::new(One(name, [SpecKind { group, kind }]))
}

impl Provider for One {
    fn name(&self) -> &'static str {
        self.0
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(One(self.0, self.1))
    }

    fn cloud(&self, _: &Parts) -> Arc<dyn Cloud> {
        unreachable!("no cloud is called here")
    }
}

impl SpecHalf for One {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Ok(Shape {
            instance_type: self.0.into(),
            region: None,
            zone: None,
            root_disk_gib: None,
            credentials_secret: None,
        })
    }

    fn kinds(&self) -> &[SpecKind] {
        &self.1
    }

    fn hot_fields(&self, _: &RawValue) -> &'static [&'static str] {
        if self.0 == "second" { &["tags"] } else { &[] }
    }
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn providers() -> Providers {
    Providers::new(vec![
        one("first", "a.example.com", "Config"),
        one("second", "b.example.com", "Config"),
        one("third", "c.example.com", "OtherConfig"),
    ])
}

#[test]
fn the_kind_chooses_and_the_group_decides_between_equal_kinds() {
    let cases = [
        (r#"{"apiVersion":"a.example.com/v1","kind":"Config"}"#, "first"),
        (r#"{"apiVersion":"b.example.com/v1beta1","kind":"Config"}"#, "second"),
        (r#"{"apiVersion":"elsewhere.example.com/v1","kind":"Config"}"#, "first"),
        (r#"{"kind":"OtherConfig"}"#, "third"),
        (r#"{"instanceType":"x"}"#, "first"),
    ];
    for (spec, expected) in cases {
        let spec = raw(spec);
        assert_eq!(providers().choose(&spec).unwrap().name(), expected, "{spec}");
        assert_eq!(&*providers().shape(&spec).unwrap().instance_type, expected, "{spec}");
        assert_eq!(providers().provider(&spec), Some(expected), "{spec}");
        assert_eq!(providers().validate(&spec), []);
        let hot: &[&str] = if expected == "second" { &["tags"] } else { &[] };
        assert_eq!(providers().hot_fields(&spec), hot, "{spec}");
    }
}

#[test]
fn reads_specs_of_a_provider_without_its_cloud_half() {
    let fourth = || one("fourth", "d.example.com", "FourthConfig").specs();
    let providers = providers().with_specs("fourth", fourth()).with_specs("first", fourth());
    let spec = raw(r#"{"kind":"FourthConfig"}"#);
    assert_eq!(providers.provider(&spec), Some("fourth"));
    assert_eq!(&*providers.shape(&spec).unwrap().instance_type, "fourth");
    assert!(matches!(providers.choose(&spec), Err(SpecError::ForeignKind { .. })));
    let unknown = raw(r#"{"kind":"Unknown"}"#);
    assert_eq!(providers.provider(&unknown), None);
    assert!(providers.hot_fields(&unknown).is_empty());
}

#[test]
fn unsupported_kind_is_reported_with_the_supported_ones() {
    let spec = raw(r#"{"apiVersion":"x/v1","kind":"GCPMachineProviderSpec"}"#);
    let error = providers().choose(&spec).unwrap_err().to_string();
    assert!(error.contains("GCPMachineProviderSpec"), "{error}");
    assert!(
        error.ends_with(
            "supported: Config.a.example.com, Config.b.example.com, OtherConfig.c.example.com"
        ),
        "{error}"
    );
    assert_eq!(providers().validate(&spec)[0].message, error);
}

#[test]
fn no_provider_is_chosen_for_an_invalid_spec() {
    for spec in ["[]", "null", "5", r#"{"kind":5}"#] {
        let error = providers().choose(&raw(spec)).unwrap_err();
        assert!(matches!(error, SpecError::Invalid { .. }), "{spec}: {error}");
    }
    assert!(Providers::default().choose(&raw("{}")).is_err());
}
