//! Where the instances of the cluster may be: every access that the provider spec of a Machine or MachineSet leads to.
//! What cannot be found out is reported as unchecked.

use std::collections::HashMap;
use std::sync::Arc;

use machinist_api::resource::{MACHINE_SETS, MACHINES};
use machinist_domain::key::ObjectKey;
use machinist_domain::shape::Shape;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::spec::SpecError;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use super::messages;
use crate::cloud_access::CloudAccessError;
use crate::cloud_access::messages as access;
use crate::clouds::Clouds;
use crate::kinds::{MachineSets, Machines, NoState};

/// Instances that were not listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unchecked {
    /// An access, or an object that names one.
    pub what: String,
    pub why: String,
}

/// What a provider spec says about its access. Specs of one namespace that agree in it have the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) provider: &'static str,
    pub(super) namespace: Arc<str>,
    pub(super) region: Option<Arc<str>>,
    pub(super) credentials_secret: Option<Arc<str>>,
}

/// The places, each with a shape that leads to it.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) found: HashMap<Place, Shape>,
    pub(super) unchecked: Vec<Unchecked>,
}

impl Places {
    pub(super) fn of(
        clouds: &Clouds,
        machines: &Cache<Machines>,
        sets: &Cache<MachineSets<NoState>>,
    ) -> Self {
        let mut places = Self::default();
        machines.survey(|_, all| {
            for entry in all {
                let key = &entry.meta().key;
                match entry {
                    Entry::Known(machine) => {
                        let spec = machine.provider_spec.as_ref().ok_or(SpecError::Missing);
                        let provider = spec.and_then(|spec| clouds.choose(&spec.raw));
                        let provider = provider.map(|chosen| Some(chosen.provider));
                        places.add(MACHINES.kind, key, provider, machine.shape());
                    }
                    Entry::Undecodable(object) => {
                        places.skip(MACHINES.kind, key, object.error.clone());
                    }
                }
            }
        });
        sets.survey(|_, all| {
            for entry in all {
                let key = &entry.meta().key;
                match entry {
                    Entry::Known(set) => {
                        let shape =
                            set.scalable.shape.as_deref().map_err(|error| (**error).clone());
                        places.add(MACHINE_SETS.kind, key, Ok(set.scalable.provider), shape);
                    }
                    Entry::Undecodable(object) => {
                        places.skip(MACHINE_SETS.kind, key, object.error.clone());
                    }
                }
            }
        });
        places
    }

    fn add(
        &mut self,
        kind: &str,
        key: &ObjectKey,
        provider: Result<Option<&'static str>, SpecError>,
        shape: Result<&Shape, SpecError>,
    ) {
        match provider.and_then(|provider| Ok((provider, shape?))) {
            Ok((Some(provider), shape)) => {
                let place = Place {
                    provider,
                    namespace: Arc::clone(&key.namespace),
                    region: shape.region.clone(),
                    credentials_secret: shape.credentials_secret.clone(),
                };
                self.found.entry(place).or_insert_with(|| shape.clone());
            }
            // Its shape would be an error.
            Ok((None, _)) => {}
            Err(error) => self.skip(kind, key, error.to_string()),
        }
    }

    fn skip(&mut self, kind: &str, key: &ObjectKey, why: String) {
        self.unchecked.push(Unchecked { what: format!("{kind} {key}"), why });
    }
}

impl Place {
    fn description(&self) -> String {
        let namespace = Arc::clone(&self.namespace);
        let secret = self.credentials_secret.as_ref();
        let secret = secret.map(|name| ObjectKey::new(namespace, Arc::clone(name)));
        describe(self.provider, self.region.as_deref().unwrap_or("-"), secret.as_ref())
    }
}

impl Unchecked {
    pub(super) fn unresolved(place: &Place, error: CloudAccessError) -> Self {
        let why = match error {
            CloudAccessError::NoRegion => access::NO_REGION.to_owned(),
            CloudAccessError::NoSecret(key) => access::no_secret(&key),
            CloudAccessError::Unreadable(failure) => failure.message,
        };
        Self { what: place.description(), why }
    }

    /// This binary reads the specs of the provider and has no cloud for them.
    pub(super) fn without_cloud(place: &Place) -> Self {
        Self { what: place.description(), why: access::no_cloud(place.provider) }
    }

    pub(super) fn unlisted(provider: &str, access: &CloudAccess, why: String) -> Self {
        Self { what: description(provider, access), why }
    }
}

/// An access in words.
pub(super) fn description(provider: &str, access: &CloudAccess) -> String {
    let secret = match &access.credentials {
        Credentials::Ambient => None,
        Credentials::Secret { key, .. } => Some(key),
    };
    describe(provider, &access.region, secret)
}

fn describe(provider: &str, region: &str, secret: Option<&ObjectKey>) -> String {
    let secret = secret.map(messages::credentials_secret);
    messages::place(provider, region, secret.as_deref().unwrap_or(messages::AMBIENT))
}
