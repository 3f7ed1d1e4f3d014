//! The clouds of this process: which provider reads a spec and calls its cloud; [`cluster_identity`] names the cluster in tags.
//!
//! Nothing here changes a cloud: the gateway of the writer does.

pub mod cluster_identity;

use std::collections::HashMap;
use std::sync::Arc;

use machinist_domain::retry::Failure;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Providers;
use machinist_provider::spec::{SpecError, SpecHalf as _};
use serde_json::value::RawValue;

use crate::platform::rule::PlatformRule;

/// The clouds of a process.
#[derive(Debug, Clone)]
pub struct Clouds {
    providers: Providers,
    by_name: HashMap<&'static str, Arc<dyn Cloud>>,
    rule: Option<Arc<PlatformRule>>,
}

/// The provider of a machine.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Its name in logs and metrics.
    pub provider: &'static str,
    /// What calls its cloud.
    pub cloud: Arc<dyn Cloud>,
}

impl Clouds {
    /// The clouds of these providers, each made once.
    pub fn new(providers: &Providers, parts: &Parts) -> Self {
        let clouds = providers.iter().map(|provider| (provider.name(), provider.cloud(parts)));
        Self { by_name: clouds.collect(), providers: providers.clone(), rule: None }
    }

    /// No clouds.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::without_calls(Providers::new(Vec::new()))
    }

    /// Providers that read specs and call nobody.
    #[cfg(test)]
    pub(crate) fn without_calls(providers: Providers) -> Self {
        Self { by_name: HashMap::new(), providers, rule: None }
    }

    /// Of which only those are used that the rule admits.
    #[must_use]
    pub fn under(mut self, rule: Arc<PlatformRule>) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Whether the provider of this spec is used here, or why not. A spec without a provider is for [`choose`](Self::choose) to refuse.
    pub async fn admit(&self, spec: &RawValue) -> Result<(), Failure> {
        match (&self.rule, self.providers.choose(spec)) {
            (Some(rule), Ok(provider)) => rule.admit(provider.name()).await,
            _ => Ok(()),
        }
    }

    /// The provider that reads this spec.
    pub fn choose(&self, spec: &RawValue) -> Result<Chosen, SpecError> {
        let provider = self.providers.choose(spec)?.name();
        let cloud = self.by_name.get(provider).cloned();
        // Every provider has a cloud; a name that two of them share is the only way to miss it.
        let cloud = cloud
            .ok_or_else(|| SpecError::Invalid { reason: format!("{provider} has no cloud") })?;
        Ok(Chosen { provider, cloud })
    }

    /// Why a spec is no use, with everything that its provider finds wrong with it: whoever reads only a part stops at the first mistake.
    pub fn in_full(&self, spec: &RawValue, error: SpecError) -> SpecError {
        let problems = self.providers.validate(spec);
        // Without a place it is the same mistake in other words.
        let placed = !problems.is_empty() && problems.iter().all(|one| !one.path.is_empty());
        match error {
            SpecError::Invalid { .. } if placed => {
                let all: Vec<_> = problems.iter().map(ToString::to_string).collect();
                SpecError::Invalid { reason: all.join("; ") }
            }
            error => error,
        }
    }
}
