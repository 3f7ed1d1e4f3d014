//! Which provider reads a spec and calls its cloud; [`cluster_identity`] names the cluster in tags.

pub(crate) mod cluster_identity;

use std::collections::HashMap;
use std::sync::Arc;

use machinist_domain::retry::Failure;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Providers;
use machinist_provider::spec::{SpecError, SpecHalf as _};
use serde_json::value::RawValue;

use crate::cloud_access::messages;
use crate::platform::rule::PlatformRule;

#[derive(Debug, Clone)]
pub struct Clouds {
    providers: Providers,
    by_name: HashMap<&'static str, Arc<dyn Cloud>>,
    rule: Option<Arc<PlatformRule>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) provider: &'static str,
    pub(crate) cloud: Arc<dyn Cloud>,
}

impl Clouds {
    pub fn new(providers: &Providers, parts: &Parts) -> Self {
        let clouds = providers.iter().map(|provider| (provider.name(), provider.cloud(parts)));
        Self { by_name: clouds.collect(), providers: providers.clone(), rule: None }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::without_calls(Providers::new(Vec::new()))
    }

    #[cfg(test)]
    pub(crate) fn without_calls(providers: Providers) -> Self {
        Self { by_name: HashMap::new(), providers, rule: None }
    }

    /// Uses this cloud for the specs of all providers.
    #[cfg(test)]
    pub(crate) fn calling(providers: Providers, cloud: &Arc<dyn Cloud>) -> Self {
        let clouds = providers.iter().map(|provider| (provider.name(), Arc::clone(cloud)));
        Self { by_name: clouds.collect(), ..Self::without_calls(providers) }
    }

    /// Uses only providers that the rule admits.
    #[must_use]
    pub fn under(mut self, rule: Arc<PlatformRule>) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Whether the provider of this spec is used, or why not. Without a provider, [`choose`](Self::choose) refuses.
    pub(crate) async fn admit(&self, spec: &RawValue) -> Result<(), Failure> {
        match (&self.rule, self.providers.choose(spec)) {
            (Some(rule), Ok(provider)) => rule.admit(provider.name()).await,
            _ => Ok(()),
        }
    }

    pub(crate) fn choose(&self, spec: &RawValue) -> Result<Chosen, SpecError> {
        let provider = self.providers.choose(spec)?.name();
        let cloud = self.by_name.get(provider).cloned();
        // Never missing: `new` has a cloud for every provider.
        let cloud =
            cloud.ok_or_else(|| SpecError::Invalid { reason: messages::no_cloud(provider) })?;
        Ok(Chosen { provider, cloud })
    }

    /// The cloud of the provider with this name.
    pub(crate) fn of(&self, provider: &str) -> Option<&Arc<dyn Cloud>> {
        self.by_name.get(provider)
    }

    /// The error with all problems that the provider finds; decoding stops at the first one.
    pub(crate) fn in_full(&self, spec: &RawValue, error: SpecError) -> SpecError {
        let problems = self.providers.validate(spec);
        // A problem without a path repeats the error.
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
