//! The conformance suite. This file is all that a provider has to write for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine_api_provider_example::ExampleProvider;
use machine_api_provider_example::hypervisor::{Hypervisor, Mood, Refusal};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::access::{Credentials, CloudAccess};
use machinist_provider::cloud::Cloud;
use machinist_provider::cloud::ownership::{Ownership, TAG_MACHINE_UID, TAG_MADE_BY};
use machinist_provider::conformance::{self, Bed, Found, Fault};
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::provider::Provider;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider::spec::SpecHalf;
use machinist_provider::metrics::NoMetrics;
use serde_json::value::RawValue;

const WINDOW: Duration = Duration::from_millis(300);

struct ExampleBed {
    hypervisor: Hypervisor,
    provider: ExampleProvider,
}

/// This provider needs no credentials.
struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, key: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        let message = format!("there is no secret {key}");
        let (category, retry) = (Category::NotFound, Retry::OnChange);
        Box::pin(async move { Err(Failure { category, retry, message }) })
    }
}

fn spec(flavour: &str) -> Arc<RawValue> {
    spec_with(flavour, "")
}

fn spec_with(flavour: &str, rest: &str) -> Arc<RawValue> {
    let spec = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"ExampleMachineProviderConfig","flavour":"{flavour}"{rest}}}"#
    );
    RawValue::from_string(spec).unwrap().into()
}

impl Bed for ExampleBed {
    fn specs(&self) -> Arc<dyn SpecHalf> {
        self.provider.specs()
    }

    fn cloud(&self) -> Arc<dyn Cloud> {
        let start = Instant::now();
        self.provider.cloud(&Parts {
            secrets: Arc::new(NoSecrets),
            platform: Arc::new(NoPlatform),
            metrics: Arc::new(NoMetrics),
            clock: Arc::new(move || start.elapsed()),
            spawn: Arc::new(|task| drop(tokio::spawn(task))),
            timings: CloudTimings { consistency: WINDOW, ..CloudTimings::default() },
        })
    }

    fn access(&self) -> CloudAccess {
        let credentials = Credentials::Ambient;
        CloudAccess { region: "cellar".into(), credentials, endpoint: None, ca_bundle: None }
    }

    fn good_spec(&self) -> Arc<RawValue> {
        spec_with("small", r#", "tags": {"team": "b"}"#)
    }

    fn hot_spec(&self, _: &str) -> Option<Arc<RawValue>> {
        Some(spec_with("small", r#", "tags": {"team": "a"}"#))
    }

    fn impossible_spec(&self) -> Arc<RawValue> {
        spec("enormous")
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn set_fault(&self, fault: Fault) -> Pending<'_, ()> {
        let mut mood = Mood::default();
        match fault {
            Fault::None => {}
            Fault::LostResponses => mood.loses_answers = true,
            Fault::Unlisted => mood.hides = WINDOW / 2,
            Fault::LostAndUnlisted => {
                mood.loses_answers = true;
                mood.hides = WINDOW / 2;
            }
            Fault::NoCapacity => mood.full = true,
            Fault::Throttled => mood.refuses = Some(Refusal::TooMany),
            Fault::Unauthorised => mood.refuses = Some(Refusal::Forbidden),
            Fault::Unavailable => mood.refuses = Some(Refusal::Timeout),
            Fault::InvalidResponses => mood.refuses = Some(Refusal::Gibberish),
            Fault::SmallPages => mood.page = 2,
        }
        self.hypervisor.set_mood(mood);
        Box::pin(async {})
    }

    fn truth<'a>(&'a self, machine: &'a Uid) -> Pending<'a, Vec<Found>> {
        let guests = self.hypervisor.truth().into_iter();
        let own = guests.filter(|guest| {
            guest.tags.get(TAG_MACHINE_UID).map(String::as_str) == Some(&*machine.0)
        });
        let found = own.map(|guest| Found {
            exists: guest.exists,
            left: 0,
            ownership: Ownership::read(|tag| guest.tags.get(tag).map(String::as_str)),
            id: guest.id.into(),
        });
        let found = found.collect();
        Box::pin(async { found })
    }

    fn cause_drift<'a>(&'a self, _: &'a Uid) -> Pending<'a, ()> {
        self.hypervisor.lose_tag(TAG_MADE_BY);
        Box::pin(async {})
    }
}

#[tokio::test]
async fn the_provider_passes() {
    let hypervisor = Hypervisor::default();
    let provider = ExampleProvider::new(hypervisor.clone());
    conformance::run(&ExampleBed { hypervisor, provider }).await.unwrap();
}
