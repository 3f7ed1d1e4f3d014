//! A cloud, its server and the provider.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::{Cloud, Deletion, MachineRef, ProviderStatus};
use machinist_provider::metrics::NoMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_sim::client::SimClient;
use machinist_provider_sim::server::{SimCloud, SimServer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The provider's consistency window.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

pub(crate) struct Bed {
    pub(crate) cloud: SimCloud,
    pub(crate) server: SimServer,
    pub(crate) client: SimClient,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let cloud = SimCloud::new(7, 1.0);
        let server = SimServer::start(&cloud).await.unwrap();
        let client = SimClient::new(Some(server.url()), parts());
        Self { cloud, server, client }
    }

    /// Prepares a machine and stores the result, as a controller does.
    pub(crate) async fn prepared(&self, name: &str, spec: &Value) -> MachineRef {
        let mut machine = machine(name, spec);
        machine.status = self.client.prepare(&machine).await.unwrap();
        machine
    }

    /// Calls `delete` until it is gone.
    pub(crate) async fn delete(&self, machine: &MachineRef) {
        let start = Instant::now();
        while self.client.delete(machine).await.unwrap() != Deletion::Gone {
            assert!(start.elapsed() < Duration::from_secs(20), "the deletion does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(crate) fn parts() -> Parts {
    let start = Instant::now();
    Parts {
        secrets: Arc::new(OneSecret),
        platform: Arc::new(NoPlatform),
        metrics: Arc::new(NoMetrics),
        clock: Arc::new(move || start.elapsed()),
        spawn: Arc::new(|task| drop(tokio::spawn(task))),
        timings: CloudTimings { consistency: WINDOW, ..CloudTimings::default() },
    }
}

pub(crate) fn spec(extra: &Value) -> Value {
    let mut spec = json!({ "instanceType": "sim.small", "bootSeconds": 0 });
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    spec
}

pub(crate) fn machine(name: &str, spec: &Value) -> MachineRef {
    MachineRef {
        key: ObjectKey::new("machines", name),
        uid: Uid(format!("uid-of-{name}").into()),
        attempt: 1,
        cluster: "cluster-1".into(),
        cluster_label: None,
        access: CloudAccess {
            region: "sim-1".into(),
            credentials: Credentials::Ambient,
            endpoint: None,
            ca_bundle: None,
        },
        spec: RawValue::from_string(spec.to_string()).unwrap().into(),
        provider_id: None,
        status: ProviderStatus::default(),
        created: jiff::Timestamp::UNIX_EPOCH,
    }
}

/// The Secret "good" has the token; there is no other.
struct OneSecret;

impl SecretReader for OneSecret {
    fn read<'a>(&'a self, key: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(async move {
            if &*key.name == "good" {
                let data = [("token".to_owned(), b"hush".to_vec())];
                return Ok(SecretData(data.into_iter().collect()));
            }
            Err(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: format!("secret {key}: it does not exist"),
            })
        })
    }
}
