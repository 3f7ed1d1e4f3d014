//! Which of the providers look after machines in this cluster.
//!
//! By default that follows from the platform that OpenShift says the cluster runs on; elsewhere every Machine names its provider by the kind of
//! its spec. A platform without a provider is no reason to stop: it is logged, counted and shown by `/readyz`, and Machines are left as they are.

use std::sync::Arc;

use machinist_domain::retry::{Category, Failure, Retry};
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use super::ClusterPlatform;
use super::metrics::PlatformMetrics;

/// OpenShift's word for a platform whose parts somebody else brings.
const EXTERNAL: &str = "External";

/// Which providers are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The one of the platform that the cluster says it runs on; where it does not say, those that Machines name.
    Auto,
    /// This one.
    Only(Arc<str>),
    /// None.
    Nobody,
}

/// Which providers look after machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Those that Machines name.
    Any,
    /// This one.
    Only {
        /// As the cluster or the user calls it.
        platform: Arc<str>,
        /// The provider.
        provider: &'static str,
    },
    /// None.
    Nobody {
        /// As the cluster or the user calls it.
        platform: Arc<str>,
    },
}

impl Choice {
    /// What follows, where the cluster says that it runs on `platform` and these providers are there.
    pub fn judge(&self, platform: Option<&str>, providers: &[&'static str]) -> Verdict {
        let named = |platform: &str| {
            let mut providers = providers.iter().copied();
            match providers.find(|provider| provider.eq_ignore_ascii_case(platform)) {
                Some(provider) => Verdict::Only { platform: platform.into(), provider },
                None => Verdict::Nobody { platform: platform.into() },
            }
        };
        match self {
            Self::Nobody => Verdict::Nobody { platform: "none".into() },
            Self::Only(platform) => named(platform),
            Self::Auto => match platform.filter(|said| !said.is_empty() && *said != EXTERNAL) {
                None => Verdict::Any,
                Some(platform) => named(platform),
            },
        }
    }
}

impl Verdict {
    /// Why a provider does not look after its machines here; `None` if it does.
    fn refusal(&self, provider: &str) -> Option<String> {
        match self {
            Self::Any => None,
            Self::Only { provider: only, .. } if *only == provider => None,
            Self::Only { platform, provider: only } => Some(format!(
                "the platform is {platform}: only provider {only} is used here, and not {provider}"
            )),
            Self::Nobody { platform } => {
                Some(format!("the platform is {platform}: no provider is used here"))
            }
        }
    }
}

/// Finds out which providers look after machines, and says so once.
#[derive(Debug)]
pub struct PlatformRule {
    choice: Choice,
    providers: Vec<&'static str>,
    platform: ClusterPlatform,
    shared: Arc<Shared>,
    said: Mutex<Option<Verdict>>,
}

impl PlatformRule {
    /// A rule for these providers.
    pub fn new(shared: &Arc<Shared>, choice: Choice, providers: Vec<&'static str>) -> Arc<Self> {
        let (platform, said) = (ClusterPlatform::new(shared), Mutex::default());
        Arc::new(Self { choice, providers, platform, shared: Arc::clone(shared), said })
    }

    /// Finds it out in the background, so that it is said although there may be no machine.
    pub fn start(self: &Arc<Self>) {
        let rule = Arc::clone(self);
        self.shared.tasks.spawn(async move {
            let stop = rule.shared.tasks.stopping();
            let find = async {
                let mut attempts = 0;
                while rule.verdict().await.is_err() {
                    attempts += 1;
                    // Nobody else does so at the same time.
                    let pause = rule.shared.timings.retry.delay(attempts, 1.0);
                    tokio::time::sleep(pause).await;
                }
            };
            stop.run_until_cancelled(find).await;
        });
    }

    /// Whether machines of this provider are looked after, or why not.
    pub async fn admit(&self, provider: &str) -> Result<(), Failure> {
        match self.verdict().await?.refusal(provider) {
            None => Ok(()),
            Some(message) => Err(Failure {
                category: Category::InvalidConfiguration,
                // A change of the Infrastructure brings every machine back.
                retry: Retry::OnChange,
                message,
            }),
        }
    }

    async fn verdict(&self) -> Result<Verdict, Failure> {
        let infrastructure = match self.choice {
            Choice::Auto => self.platform.infrastructure().await?,
            Choice::Only(_) | Choice::Nobody => None,
        };
        let platform = infrastructure.as_ref().map(|object| &*object.platform);
        let verdict = self.choice.judge(platform, &self.providers);
        let is_news = self.said.lock().replace(verdict.clone()).as_ref() != Some(&verdict);
        if is_news {
            self.say(&verdict);
        }
        Ok(verdict)
    }

    fn say(&self, verdict: &Verdict) {
        let (platform, provider) = match verdict {
            Verdict::Any => ("unknown", "any"),
            Verdict::Only { platform, provider } => (&**platform, *provider),
            Verdict::Nobody { platform } => (&**platform, "none"),
        };
        self.shared.metrics.set::<PlatformMetrics>().show(platform, provider);
        let said = match verdict {
            Verdict::Any => {
                "platform is not said by the cluster: machines name their providers".to_owned()
            }
            Verdict::Only { .. } => format!("platform {platform} has provider {provider}"),
            Verdict::Nobody { .. } if self.choice == Choice::Nobody => {
                "platform none was asked for: machines are left as they are".to_owned()
            }
            Verdict::Nobody { .. } => {
                format!("platform {platform} has no provider here: machines are left as they are")
            }
        };
        if matches!(verdict, Verdict::Nobody { .. }) {
            tracing::warn!("{said}");
        } else {
            tracing::info!("{said}");
        }
        self.shared.readiness.platform(said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: [&str; 2] = ["aws", "sim"];

    fn only(platform: &str, provider: &'static str) -> Verdict {
        Verdict::Only { platform: platform.into(), provider }
    }

    fn nobody(platform: &str) -> Verdict {
        Verdict::Nobody { platform: platform.into() }
    }

    #[test]
    fn the_platform_that_the_cluster_names_chooses_its_provider() {
        let judge = |platform| Choice::Auto.judge(platform, &HERE);
        assert_eq!(judge(Some("AWS")), only("AWS", "aws"));
        assert_eq!(judge(Some("Azure")), nobody("Azure"));
        assert_eq!(judge(Some("None")), nobody("None"));
        for silent in [None, Some(""), Some("External")] {
            assert_eq!(judge(silent), Verdict::Any, "{silent:?}");
        }
    }

    #[test]
    fn what_the_user_says_wins() {
        let judge = |choice: Choice| choice.judge(Some("Azure"), &HERE);
        assert_eq!(judge(Choice::Only("aws".into())), only("aws", "aws"));
        assert_eq!(judge(Choice::Only("other".into())), nobody("other"));
        assert_eq!(judge(Choice::Nobody), nobody("none"));
    }

    #[test]
    fn who_is_left_out_is_told_why() {
        assert_eq!(Verdict::Any.refusal("sim"), None);
        assert_eq!(only("AWS", "aws").refusal("aws"), None);
        let refusal = only("AWS", "aws").refusal("sim").unwrap();
        assert!(refusal.contains("AWS") && refusal.contains("not sim"), "{refusal}");
        assert!(nobody("Azure").refusal("aws").unwrap().contains("Azure"));
    }
}
