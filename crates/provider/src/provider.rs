//! The provider trait, and the choice among several providers.

use std::fmt::Debug;
use std::sync::Arc;

use machinist_domain::shape::Shape;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::capacity::Capacities;
use crate::cloud::Cloud;
use crate::node_groups::NodeGroups;
use crate::parts::Parts;
use crate::spec::{self, Problem, SpecError, SpecHalf, SpecKind};

/// A cloud.
pub trait Provider: Debug + Send + Sync {
    /// The name in logs and metrics: one lower-case word.
    fn name(&self) -> &'static str;

    /// Reads this cloud's provider specs.
    fn specs(&self) -> Arc<dyn SpecHalf>;

    /// The cloud half, for the lifetime of the process.
    fn cloud(&self, parts: &Parts) -> Arc<dyn Cloud>;

    /// Where the capacities of its instance types come from, for scale from zero. Called once per process.
    fn capacity(&self, _parts: &Parts) -> Capacities {
        Capacities::default()
    }

    /// The node groups; `None` if the cloud has none.
    fn node_groups(&self, _parts: &Parts) -> Option<Arc<dyn NodeGroups>> {
        None
    }
}

/// The providers of a process. As a [`SpecHalf`] it reads the specs of all of them.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    known: Vec<Known>,
    kinds: Vec<SpecKind>,
}

#[derive(Debug, Clone)]
struct Known {
    name: &'static str,
    specs: Arc<dyn SpecHalf>,
    /// `None` if this process does not have its cloud half.
    provider: Option<Arc<dyn Provider>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Header {
    api_version: Option<String>,
    kind: Option<String>,
}

impl Providers {
    /// Where two providers read the same kind and group, the earlier one is chosen.
    pub fn new(all: Vec<Arc<dyn Provider>>) -> Self {
        let mut providers = Self::default();
        for provider in all {
            let (name, specs) = (provider.name(), provider.specs());
            providers.add(Known { name, specs, provider: Some(provider) });
        }
        providers
    }

    /// Also reads the specs of a provider whose cloud half this process does not have.
    #[must_use]
    pub fn with_specs(mut self, name: &'static str, specs: Arc<dyn SpecHalf>) -> Self {
        if self.known.iter().all(|known| known.name != name) {
            self.add(Known { name, specs, provider: None });
        }
        self
    }

    fn add(&mut self, known: Known) {
        self.kinds.extend_from_slice(known.specs.kinds());
        self.known.push(known);
    }

    /// All providers, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.known.iter().filter_map(|known| known.provider.as_ref())
    }

    /// The provider of this spec. The group only decides between providers of the same kind, because specs of one kind
    /// exist under several groups. A spec without a kind is for the first provider.
    pub fn choose(&self, spec: &RawValue) -> Result<&Arc<dyn Provider>, SpecError> {
        let (known, kind) = self.find(spec)?;
        known.provider.as_ref().ok_or_else(|| self.foreign(kind))
    }

    fn foreign(&self, kind: String) -> SpecError {
        SpecError::ForeignKind { kind, known: self.kinds.clone() }
    }

    fn find(&self, spec: &RawValue) -> Result<(&Known, String), SpecError> {
        let header: Header = spec::read(spec)?;
        let kind = header.kind.unwrap_or_default();
        let version = header.api_version.unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let reads = |fits: &dyn Fn(&SpecKind) -> bool| {
            self.known.iter().find(|known| known.specs.kinds().iter().any(fits))
        };
        let found = if kind.is_empty() {
            self.known.first()
        } else {
            reads(&|known| known.kind == kind && known.group == group)
                .or_else(|| reads(&|known| known.kind == kind))
        };
        match found {
            Some(known) => Ok((known, kind)),
            None => Err(self.foreign(kind)),
        }
    }
}

impl SpecHalf for Providers {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        self.find(spec)?.0.specs.shape(spec)
    }

    fn hot_fields(&self, spec: &RawValue) -> &'static [&'static str] {
        self.find(spec).map_or(&[], |(known, _)| known.specs.hot_fields(spec))
    }

    fn in_place_fields(&self, spec: &RawValue) -> &'static [&'static str] {
        self.find(spec).map_or(&[], |(known, _)| known.specs.in_place_fields(spec))
    }

    fn provider(&self, spec: &RawValue) -> Option<&'static str> {
        self.find(spec).ok().map(|(known, _)| known.name)
    }

    fn kinds(&self) -> &[SpecKind] {
        &self.kinds
    }

    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match self.find(spec) {
            Ok((known, _)) => known.specs.validate(spec),
            Err(error) => vec![Problem::at("", error.to_string())],
        }
    }
}

#[cfg(test)]
mod tests;
