use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_domain::observed::Observed;
use machinist_domain::retry::Category;
use machinist_provider::Pending;
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, ErrorClass, Instance, InstanceState, MachineRef, ObservedInstance,
    Owned, ProviderStatus, Reach,
};
use machinist_provider::parts::Parts;
use machinist_provider::provider::{Provider, Providers};
use machinist_provider::spec::SpecHalf;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::clock::{Clock as _, ManualClock};
use machinist_runtime::controller::Controller as _;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;
use machinist_testbed::stub::StubApi;
use serde_json::{Value, json};

use super::plan::{Outcome, Plan};
use super::samples::{Zones, instance, object, snapshot, view, view_of};
use super::snapshot::{Call, Snapshot};
use super::{MachineController, Settings};
use crate::cloud_access::SecretScope;
use crate::clouds::Clouds;
use crate::drain::{self, Subject};
use crate::kinds::{Machine, Machines};
use crate::test_process;

const PATH: &str = "/apis/machine.openshift.io/v1beta1/namespaces/ns/machines/m";

/// A cloud that creates nothing, and records that.
#[derive(Debug)]
struct Full;

impl Provider for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(Zones)
    }

    fn cloud(&self, _: &Parts) -> Arc<dyn Cloud> {
        Arc::new(Self)
    }
}

impl Cloud for Full {
    fn prepare<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn create<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        let full = CloudError::new(ErrorClass::CapacityExhausted, "zone z is full");
        Box::pin(std::future::ready(Err(full)))
    }

    fn describe<'a>(&'a self, _: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(std::future::pending())
    }

    fn update<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn delete<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn list<'a>(&'a self, _: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn delete_orphan<'a>(
        &'a self,
        _: &'a Reach,
        _: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn failed_status(
        &self,
        status: &ProviderStatus,
        message: &str,
        now: Timestamp,
    ) -> Option<ProviderStatus> {
        let mut status = status.clone();
        status.0.insert("failed".to_owned(), json!([message, now.to_string()]));
        Some(status)
    }
}

/// Those of `--drain-timeout=30m`.
fn timings() -> MachineTimings {
    MachineTimings { drain: Some(Duration::from_mins(30)), ..MachineTimings::default() }
}

fn controller(shared: &Arc<Shared>) -> MachineController {
    let settings = Settings {
        clouds: Clouds::calling(Providers::new(vec![Arc::new(Full)]), &(Arc::new(Full) as _)),
        cluster_id: Some("c".into()),
        secrets: SecretScope::Named,
        migration: Some(false),
        timings: timings(),
        limits: MachineLimits::default(),
    };
    MachineController::new(shared, Machines::new(Arc::new(Zones)), settings)
}

#[tokio::test]
async fn the_status_of_a_failed_creation_is_what_the_provider_records() {
    let clock = Arc::<ManualClock>::default();
    let shared = test_process::shared(None, &clock);
    let (controller, writer) = (controller(&shared), test_process::writer(&shared));
    let launched = view(&json!({"status": {"providerStatus": {"launch": {"attempt": 1}}}}));
    let plan = Plan::Create { attempt: 1 };
    let outcome = controller.act(&snapshot(launched), &plan, &writer).await;
    let Outcome::CallFailed(Call::Create, error) = outcome else { panic!("{outcome:?}") };
    let recorded = json!({
        "launch": {"attempt": 1}, "failed": ["zone z is full", clock.now().to_string()],
    });
    assert_eq!(error.status.map(|status| Value::Object(status.0)), Some(recorded));
}

/// A Machine that was created when the clock began.
fn created(status: &Value) -> Value {
    object(&json!({"metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"}, "status": status}))
}

struct Fixture {
    api: StubApi,
    clock: Arc<ManualClock>,
    shared: Arc<Shared>,
    controller: MachineController,
}

impl Fixture {
    async fn new() -> Self {
        let (api, clock) = (StubApi::start().await.unwrap(), Arc::<ManualClock>::default());
        let shared = test_process::shared(Some(&api), &clock);
        let controller = controller(&shared);
        Self { api, clock, shared, controller }
    }

    async fn read(&self) -> Option<Entry<Machine>> {
        self.controller.machines.read_live(&ObjectKey::new("ns", "m")).await.unwrap()
    }

    async fn write(&self, snapshot: &Snapshot, status: &Value) {
        let writer = test_process::writer(&self.shared);
        let plan = Plan::Create { attempt: 1 };
        let written = self.controller.write_status(snapshot, &plan, status, &writer).await;
        assert!(written.unwrap().is_some());
    }

    fn metrics(&self) -> String {
        self.shared.metrics.encode(&[]).unwrap()
    }
}

#[tokio::test]
async fn a_machine_that_is_late_is_counted_once() {
    let fixture = Fixture::new().await;
    let object = created(&json!({"phase": "Provisioning"}));
    fixture.api.put(PATH, object.clone());
    let snapshot = snapshot(view_of(&object));
    let late = |count: usize| format!("\nmapi_machine_creation_timed_out {count}\n");
    let limit = timings().creation;
    fixture.clock.advance(limit.saturating_sub(Duration::from_secs(1)));
    fixture.write(&snapshot, &json!({"phase": "Provisioning"})).await;
    assert!(fixture.metrics().contains(&late(0)), "{}", fixture.metrics());
    fixture.clock.advance(Duration::from_secs(1));
    for phase in ["Running", "Failed"] {
        fixture.write(&snapshot, &json!({"phase": phase})).await;
    }
    assert!(fixture.metrics().contains(&late(0)), "its creation has ended");
    for _ in 0..2 {
        fixture.write(&snapshot, &json!({"phase": "Provisioning"})).await;
        assert!(fixture.metrics().contains(&late(1)), "{}", fixture.metrics());
    }
}

#[tokio::test]
async fn machines_are_in_the_inventory() {
    let fixture = Fixture::new().await;
    assert!(fixture.metrics().contains("\nmapi_machine_items 0\n"), "{}", fixture.metrics());
    let mut machine =
        created(&json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": "n"}}));
    machine["spec"]["providerID"] = json!("p:///i-1");
    machine["metadata"]["creationTimestamp"] = json!("1970-01-01T00:02:00Z");
    fixture.api.put(PATH, machine);
    assert!(fixture.read().await.is_some());
    let text = fixture.metrics();
    assert!(text.contains("\nmapi_machine_items 1\n"), "{text}");
    let shown = "\nmapi_machine_created_timestamp_seconds{name=\"m\",namespace=\"ns\",\
                 spec_provider_id=\"p:///i-1\",node=\"n\",\
                 api_version=\"machine.openshift.io/v1beta1\",phase=\"Running\"} 120\n";
    assert!(text.contains(shown), "{text}");
    let up = "\nmapi_mao_collector_up{kind=\"mapi_machine_items\"} 0\n";
    assert!(text.contains(up), "its first list fails: {text}");
    let mut changed = created(&json!({}));
    changed["metadata"]["resourceVersion"] = json!("2");
    fixture.api.put(PATH, changed);
    assert!(fixture.read().await.is_some());
    let text = fixture.metrics();
    assert!(text.contains("\nmapi_machine_items 1\n"), "{text}");
    assert!(!text.contains("\nmapi_machine_created_timestamp_seconds{"), "no phase: {text}");
    fixture.api.remove(PATH);
    assert!(fixture.read().await.is_none());
    assert!(fixture.metrics().contains("\nmapi_machine_items 0\n"));
}

#[tokio::test]
async fn nothing_is_kept_of_a_machine_that_is_gone() {
    let fixture = Fixture::new().await;
    let Fixture { api, clock, shared, controller } = &fixture;
    controller.subscribe(&Arc::new(Queue::new(shared.timings.retry)));
    let hook = json!([{"name": "h", "owner": "o"}]);
    api.put(PATH, object(&json!({"spec": {"lifecycleHooks": {"preDrain": hook}}})));
    let found = fixture.read().await;
    let Some(Entry::Known(machine)) = found else { panic!("{found:?}") };
    let (key, uid) = (&machine.meta.key, &machine.meta.uid);
    controller.metrics.call_failed(Call::Create, key, Category::Throttled);
    controller.instances.insert(key, uid, &instance(InstanceState::Running));
    controller.refused.lock().insert(uid.clone(), 1);
    controller.repairs.failed(uid, "tags differ");
    let observe = async || controller.drainer.observe(Subject::of(&machine, None)).await;
    let view = observe().await;
    assert_eq!(view.timings, timings(), "with its time limit");
    let plan = drain::decide(&view, clock.now());
    controller.drainer.act(&view, &plan, &test_process::writer(shared)).await;

    let kept = async || {
        let drain = !observe().await.first_reconcile;
        [
            fixture.metrics().contains(r#"mapi_instance_create_failed{name="m""#),
            controller.instances.get(uid) != Observed::NotAsked,
            controller.refused.lock().contains_key(uid),
            drain,
            controller.repairs.of(uid).is_some(),
        ]
    };
    let all = "metrics, instance, refused attempt, drain, failed repair";
    assert_eq!(kept().await, [true; 5], "{all}");
    api.remove(PATH);
    assert!(fixture.read().await.is_none());
    assert_eq!(kept().await, [false; 5], "{all}");
}
