//! A provider: both halves and the source of capacities under one name. [`Providers`] chooses among several.

use std::fmt::Debug;
use std::sync::Arc;

use machinist_domain::shape::Shape;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::capacity::CapacitySource;
use crate::cloud::Cloud;
use crate::node_groups::NodeGroups;
use crate::parts::Parts;
use crate::spec::{self, Problem, SpecError, SpecHalf, SpecKind};

/// Everything that machinist needs to know about one cloud.
pub trait Provider: Debug + Send + Sync {
    /// The name in logs and metrics: one lower-case word.
    fn name(&self) -> &'static str;

    /// Reads this cloud's provider specs.
    fn specs(&self) -> Arc<dyn SpecHalf>;

    /// Calls the cloud, for as long as the process runs.
    fn cloud(&self, parts: &Parts) -> Arc<dyn Cloud>;

    /// Says what machines give; `None` where the cloud cannot be asked.
    fn capacity(&self, parts: &Parts) -> Option<Arc<dyn CapacitySource>> {
        let _ = parts;
        None
    }

    /// Calls the cloud about its groups of nodes; `None` where it has none.
    fn node_groups(&self, parts: &Parts) -> Option<Arc<dyn NodeGroups>> {
        let _ = parts;
        None
    }
}

/// The providers of a process. As a [`SpecHalf`] it reads whatever one of them reads.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    all: Vec<Arc<dyn Provider>>,
    specs: Vec<Known>,
    kinds: Vec<SpecKind>,
}

/// The spec half of a provider, made once.
#[derive(Clone)]
struct Known(Arc<dyn SpecHalf>);

impl Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.kinds()).finish()
    }
}

/// What a spec says it is.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Header {
    api_version: Option<String>,
    kind: Option<String>,
}

impl Providers {
    /// These providers. Where two read the same kind of the same group, the earlier one does.
    pub fn new(all: Vec<Arc<dyn Provider>>) -> Self {
        let specs: Vec<_> = all.iter().map(|provider| Known(provider.specs())).collect();
        let kinds = specs.iter().flat_map(|specs| specs.0.kinds().to_vec()).collect();
        Self { all, specs, kinds }
    }

    /// All of them, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.all.iter()
    }

    /// The provider that reads this spec.
    ///
    /// The group decides only between providers that read the same kind: provider specs of one kind are found under several groups. A spec
    /// without a kind is for the first provider, as it was when there was only one.
    pub fn choose(&self, spec: &RawValue) -> Result<&Arc<dyn Provider>, SpecError> {
        Ok(&self.all[self.position(spec)?])
    }

    fn position(&self, spec: &RawValue) -> Result<usize, SpecError> {
        let header: Header = spec::read(spec)?;
        let foreign = |kind: &str| SpecError::ForeignKind {
            kind: kind.to_owned(),
            known: self.kinds.clone(),
        };
        let Some(kind) = header.kind.filter(|kind| !kind.is_empty()) else {
            return if self.all.is_empty() { Err(foreign("")) } else { Ok(0) };
        };
        let version = header.api_version.unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let reads = |fits: &dyn Fn(&SpecKind) -> bool| {
            self.specs.iter().position(|specs| specs.0.kinds().iter().any(fits))
        };
        reads(&|known| known.kind == kind && known.group == group)
            .or_else(|| reads(&|known| known.kind == kind))
            .ok_or_else(|| foreign(&kind))
    }
}

impl SpecHalf for Providers {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        self.specs[self.position(spec)?].0.shape(spec)
    }

    fn kinds(&self) -> &[SpecKind] {
        &self.kinds
    }

    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match self.position(spec) {
            Ok(position) => self.specs[position].0.validate(spec),
            Err(error) => vec![Problem::at("", error.to_string())],
        }
    }
}

#[cfg(test)]
mod tests;
