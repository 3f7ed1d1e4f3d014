//! `SimMachineProviderConfig`: the provider spec of the simulated cloud, with the faults of one machine. Faults of the
//! whole cloud are in [`Modes`](crate::server::Modes).

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_domain::shape::Shape;
use machinist_provider::spec::{self, Problem, SpecError, SpecHalf, SpecKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::Failures;
use crate::{messages, types};

pub const GROUP: &str = "sim.machinist.dev";
pub const KIND: &str = "SimMachineProviderConfig";
const KINDS: &[SpecKind] = &[SpecKind { group: GROUP, kind: KIND }];

/// A provider spec. Unknown fields are ignored; fields of the wrong type are an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimMachineProviderConfig {
    kind: Option<String>,
    pub instance_type: String,
    /// The region; default `sim-1`.
    pub region: String,
    /// The zone; default: another one for every attempt.
    pub zone: Option<String>,
    /// Seconds until it runs; default 5.
    pub boot_seconds: u32,
    pub stop_seconds: u32,
    #[serde(rename = "rootVolumeGiB")]
    pub root_volume_gib: u32,
    /// The size of a volume that outlives the instance; default: none.
    #[serde(rename = "dataVolumeGiB")]
    pub data_volume_gib: Option<u32>,
    /// What runs on the instance. The simulated cloud ignores it.
    pub image: Option<String>,
    pub tags: BTreeMap<String, String>,
    /// A Secret whose key `token` is sent to the cloud.
    pub credentials_secret: Option<SecretName>,
    pub failures: Failures,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretName {
    pub name: String,
}

impl Default for SimMachineProviderConfig {
    fn default() -> Self {
        Self {
            kind: None,
            instance_type: String::new(),
            region: "sim-1".to_owned(),
            zone: None,
            boot_seconds: 5,
            stop_seconds: 0,
            root_volume_gib: 20,
            data_volume_gib: None,
            image: None,
            tags: BTreeMap::new(),
            credentials_secret: None,
            failures: Failures::default(),
        }
    }
}

impl SimMachineProviderConfig {
    pub fn read(spec: &RawValue) -> Result<Self, SpecError> {
        let config: Self = spec::read(spec)?;
        match &config.kind {
            Some(kind) if kind != KIND => {
                Err(SpecError::ForeignKind { kind: kind.clone(), known: KINDS.to_vec() })
            }
            _ if config.instance_type.is_empty() => {
                Err(Problem::at("instanceType", messages::REQUIRED).into())
            }
            _ => Ok(config),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let names: Vec<_> = types::names().collect();
        let bad_type = !names.contains(&self.instance_type.as_str());
        let bad_region = self.region.is_empty() || self.region.contains('/');
        let bad_zone = self.zone.as_deref().is_some_and(|zone| !types::ZONES.contains(&zone));
        let rules = [
            (bad_type, "instanceType", messages::choice(&names)),
            (bad_region, "region", messages::bad_region(&self.region)),
            (bad_zone, "zone", messages::choice(&types::ZONES)),
            (self.root_volume_gib == 0, "rootVolumeGiB", messages::ROOT_VOLUME.to_owned()),
            (self.data_volume_gib == Some(0), "dataVolumeGiB", messages::DATA_VOLUME.to_owned()),
        ];
        let broken = rules.into_iter().filter(|(is_broken, ..)| *is_broken);
        broken.map(|(_, path, text)| Problem::at(path, text)).collect()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SimSpecs;

impl SpecHalf for SimSpecs {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let config = SimMachineProviderConfig::read(spec)?;
        let secret = config.credentials_secret.map(|secret| secret.name);
        Ok(Shape {
            instance_type: config.instance_type.into(),
            region: Some(config.region.into()),
            zone: config.zone.map(Arc::from),
            root_disk_gib: Some(config.root_volume_gib),
            credentials_secret: secret.filter(|name| !name.is_empty()).map(Arc::from),
        })
    }

    fn kinds(&self) -> &[SpecKind] {
        KINDS
    }

    fn hot_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["tags"]
    }

    fn in_place_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["image"]
    }

    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match SimMachineProviderConfig::read(spec) {
            Ok(config) => config.problems(),
            Err(error) => vec![Problem::at("", error.to_string())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn defaults_are_filled_in() {
        let spec = raw(r#"{"kind":"SimMachineProviderConfig","instanceType":"sim.small"}"#);
        let expected = Shape {
            instance_type: "sim.small".into(),
            region: Some("sim-1".into()),
            zone: None,
            root_disk_gib: Some(20),
            credentials_secret: None,
        };
        assert_eq!(SimSpecs.shape(&spec), Ok(expected));
        assert_eq!(SimSpecs.validate(&spec), []);
    }

    #[test]
    fn the_documented_spec_is_read_in_full() {
        let spec = raw(
            r#"{"instanceType":"sim.medium","region":"r","zone":"a","bootSeconds":0,"stopSeconds":2,
                "rootVolumeGiB":7,"dataVolumeGiB":10,"tags":{"team":"a"},"credentialsSecret":{"name":"x"},
                "failures":{"neverBoots":true,"diesAfterSeconds":60,"noCapacity":true,
                "lostCreateAnswers":1,"createAnswerDelaySeconds":30}}"#,
        );
        let config = SimMachineProviderConfig::read(&spec).unwrap();
        let numbers = (config.boot_seconds, config.stop_seconds, config.root_volume_gib);
        assert_eq!((numbers, config.data_volume_gib), ((0, 2, 7), Some(10)));
        let failures = Failures {
            never_boots: true,
            dies_after_seconds: Some(60),
            no_capacity: true,
            lost_create_answers: 1,
            create_answer_delay_seconds: 30,
        };
        assert_eq!(config.failures, failures);
        assert_eq!(SimSpecs.shape(&spec).unwrap().credentials_secret.as_deref(), Some("x"));
    }

    #[test]
    fn every_problem_is_named_with_its_place() {
        let spec = raw(
            r#"{"instanceType":"m5.large","region":"","zone":"z","rootVolumeGiB":0,"dataVolumeGiB":0}"#,
        );
        let paths: Vec<_> =
            SimSpecs.validate(&spec).into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["instanceType", "region", "zone", "rootVolumeGiB", "dataVolumeGiB"]);
        for spec in ["[]", "{}", r#"{"instanceType":5}"#, r#"{"kind":"Other"}"#] {
            assert_eq!(SimSpecs.validate(&raw(spec)).len(), 1, "{spec}");
        }
    }
}
