//! Selects the providers that are used in this cluster. By default the platform of OpenShift's Infrastructure selects
//! one; on other clusters the kind of each Machine's spec does. A platform without a provider is logged, exported as a
//! metric and shown by `/readyz`, and Machines are not reconciled.

use std::sync::Arc;

use machinist_domain::retry::{Category, Failure, Retry};
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use super::metrics::PlatformMetrics;
use crate::cloud_access::messages;
use crate::cloud_access::openshift_object::OpenShiftObject;
use crate::kinds::Infrastructures;
use crate::openshift::OpenShift;

/// OpenShift's name for a platform that it does not manage.
const EXTERNAL: &str = "External";

/// The value of `--platform`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The provider of the cluster's platform; without one, the provider of each Machine's spec.
    Auto,
    Only(Arc<str>),
    NoProvider,
}

/// The providers that are used. `platform` is the name in the Infrastructure or the flag.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Selection {
    /// The provider of each Machine's spec.
    Any,
    Only {
        platform: Arc<str>,
        provider: &'static str,
    },
    NoProvider {
        platform: Arc<str>,
    },
}

impl Choice {
    fn select(&self, platform: Option<&str>, providers: &[&'static str]) -> Selection {
        let named = |platform: &str| {
            let mut providers = providers.iter().copied();
            match providers.find(|provider| provider.eq_ignore_ascii_case(platform)) {
                Some(provider) => Selection::Only { platform: platform.into(), provider },
                None => Selection::NoProvider { platform: platform.into() },
            }
        };
        match self {
            Self::NoProvider => Selection::NoProvider { platform: "none".into() },
            Self::Only(platform) => named(platform),
            Self::Auto => match platform.filter(|name| !name.is_empty() && *name != EXTERNAL) {
                None => Selection::Any,
                Some(platform) => named(platform),
            },
        }
    }
}

impl Selection {
    fn refusal(&self, provider: &str) -> Option<String> {
        match self {
            Self::Any => None,
            Self::Only { provider: only, .. } if *only == provider => None,
            Self::Only { platform, provider: only } => {
                Some(messages::other_provider(platform, only, provider))
            }
            Self::NoProvider { platform } => Some(messages::no_provider_used(platform)),
        }
    }
}

/// Selects providers, and logs and exports the selection when it changes.
#[derive(Debug)]
pub struct PlatformRule {
    choice: Choice,
    providers: Vec<&'static str>,
    infrastructure: OpenShiftObject<Infrastructures>,
    shared: Arc<Shared>,
    reported: Mutex<Option<Selection>>,
}

impl PlatformRule {
    pub fn new(shared: &Arc<Shared>, choice: Choice, providers: Vec<&'static str>) -> Arc<Self> {
        let infrastructure = OpenShiftObject::infrastructure(shared, &OpenShift::new(shared));
        let (shared, reported) = (Arc::clone(shared), Mutex::default());
        Arc::new(Self { choice, providers, infrastructure, shared, reported })
    }

    /// Selects in the background, so that the selection is reported even without Machines.
    pub fn start(self: &Arc<Self>) {
        let rule = Arc::clone(self);
        self.shared.tasks.spawn("platform", async move {
            let stop = rule.shared.tasks.stopping();
            let find = async {
                let mut attempts = 0;
                while rule.selection().await.is_err() {
                    attempts += 1;
                    let pause = rule.shared.timings.retry.delay(attempts, 1.0);
                    tokio::time::sleep(pause).await;
                }
            };
            stop.run_until_cancelled(find).await;
        });
    }

    /// Whether this provider is used, or why not.
    pub async fn admit(&self, provider: &str) -> Result<(), Failure> {
        match self.selection().await?.refusal(provider) {
            None => Ok(()),
            Some(message) => Err(Failure {
                category: Category::InvalidConfiguration,
                // A change of the Infrastructure requeues every Machine.
                retry: Retry::OnChange,
                message,
            }),
        }
    }

    async fn selection(&self) -> Result<Selection, Failure> {
        let infrastructure = match self.choice {
            Choice::Auto => self.infrastructure.get(|_| {}).await?,
            Choice::Only(_) | Choice::NoProvider => None,
        };
        let platform = infrastructure.as_ref().map(|object| &*object.platform);
        let selection = self.choice.select(platform, &self.providers);
        let changed = self.reported.lock().replace(selection.clone()).as_ref() != Some(&selection);
        if changed {
            self.report(&selection);
        }
        Ok(selection)
    }

    fn report(&self, selection: &Selection) {
        let (platform, provider, text) = match selection {
            Selection::Any => ("unknown", "any", messages::PLATFORM_UNKNOWN.to_owned()),
            Selection::Only { platform, provider } => {
                (&**platform, *provider, messages::platform_provider(platform, provider))
            }
            Selection::NoProvider { platform } => {
                let text = match self.choice {
                    Choice::NoProvider => messages::PLATFORM_NONE.to_owned(),
                    _ => messages::platform_without_provider(platform),
                };
                (&**platform, "none", text)
            }
        };
        self.shared.metrics.of::<PlatformMetrics>().show(platform, provider);
        if matches!(selection, Selection::NoProvider { .. }) {
            tracing::warn!("{text}");
        } else {
            tracing::info!("{text}");
        }
        self.shared.readiness.platform(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDERS: [&str; 2] = ["cloud", "sim"];

    fn only(platform: &str, provider: &'static str) -> Selection {
        Selection::Only { platform: platform.into(), provider }
    }

    fn no_provider(platform: &str) -> Selection {
        Selection::NoProvider { platform: platform.into() }
    }

    #[test]
    fn selects_the_provider_of_the_platform() {
        let select = |platform| Choice::Auto.select(platform, &PROVIDERS);
        assert_eq!(select(Some("Cloud")), only("Cloud", "cloud"));
        assert_eq!(select(Some("Azure")), no_provider("Azure"));
        assert_eq!(select(Some("None")), no_provider("None"));
        for silent in [None, Some(""), Some("External")] {
            assert_eq!(select(silent), Selection::Any, "{silent:?}");
        }
    }

    #[test]
    fn the_flag_overrides_the_platform() {
        let select = |choice: Choice| choice.select(Some("Azure"), &PROVIDERS);
        assert_eq!(select(Choice::Only("cloud".into())), only("cloud", "cloud"));
        assert_eq!(select(Choice::Only("other".into())), no_provider("other"));
        assert_eq!(select(Choice::NoProvider), no_provider("none"));
    }

    #[test]
    fn explains_why_a_provider_is_not_used() {
        assert_eq!(Selection::Any.refusal("sim"), None);
        assert_eq!(only("Cloud", "cloud").refusal("cloud"), None);
        let refusal = only("Cloud", "cloud").refusal("sim").unwrap();
        assert!(refusal.contains("Cloud") && refusal.contains("for provider sim"), "{refusal}");
        assert!(no_provider("Azure").refusal("cloud").unwrap().contains("Azure"));
    }
}
