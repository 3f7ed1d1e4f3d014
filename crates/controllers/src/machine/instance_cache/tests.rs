use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_provider::Pending;
use machinist_provider::access::Credentials;
use machinist_provider::cloud::{
    CloudError, Deletion, InstanceState, Owned, ProviderStatus, Reach,
};
use machinist_runtime::clock::ManualClock;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::*;

/// A cloud without instances that answers when it is notified.
#[derive(Debug, Default)]
struct Slow {
    panics: Mutex<bool>,
    asked: Mutex<Vec<usize>>,
    go: Notify,
}

impl Cloud for Slow {
    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(async move {
            self.asked.lock().push(machines.len());
            let panics = std::mem::take(&mut *self.panics.lock());
            assert!(!panics, "requested by the test");
            self.go.notified().await;
            machines.iter().map(|_| Observed::Absent).collect()
        })
    }

    fn prepare<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        Box::pin(std::future::pending())
    }

    fn create<'a>(&'a self, _: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
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
}

struct Fixture {
    instances: InstanceCache,
    cloud: Arc<Slow>,
    chosen: Chosen,
    clock: Arc<ManualClock>,
    woken: Arc<Mutex<Vec<String>>>,
}

fn fixture() -> Fixture {
    let (clock, woken) = (Arc::<ManualClock>::default(), Arc::<Mutex<Vec<String>>>::default());
    // Long after the start, so that something can be old.
    clock.advance(Duration::from_secs(3600));
    let heard = Arc::clone(&woken);
    let requeue: Requeue = Arc::new(move |key: &ObjectKey| heard.lock().push(key.name.to_string()));
    let patience = Duration::from_secs(600);
    let timings = MachineTimings::default();
    let instances = InstanceCache::new(Tasks::default(), clock.clone(), timings, patience, requeue);
    let cloud = Arc::<Slow>::default();
    let chosen = Chosen { provider: "slow", cloud: cloud.clone() };
    Fixture { instances, cloud, chosen, clock, woken }
}

fn machine(name: &str, region: &str) -> MachineRef {
    MachineRef {
        key: ObjectKey::new("ns", name),
        uid: Uid(name.into()),
        attempt: 1,
        cluster: "c".into(),
        cluster_label: None,
        access: CloudAccess {
            region: region.into(),
            credentials: Credentials::Ambient,
            endpoint: None,
            ca_bundle: None,
        },
        spec: RawValue::from_string("{}".to_owned()).unwrap().into(),
        provider_id: None,
        status: ProviderStatus::default(),
        created: jiff::Timestamp::UNIX_EPOCH,
    }
}

fn instance() -> Arc<Instance> {
    let status = r#"{"launch": {"attempt": 3, "share": 0.1}, "zones": ["a", null]}"#;
    let status = RawValue::from_string(status.to_owned()).unwrap();
    Arc::new(Instance {
        id: "i".into(),
        provider_id: "p".into(),
        state: InstanceState::Running,
        state_text: "running".into(),
        state_reason: None,
        addresses: Vec::new(),
        region: None,
        zone: None,
        instance_type: None,
        interruptible: false,
        uncertain: false,
        drift: None,
        status: ProviderStatus::read(Some(&status)),
    })
}

/// Lets the time pass that questions are collected for, and everything run that can.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(3)).await;
}

#[tokio::test(start_paused = true)]
async fn queries_in_batches_with_one_call_at_a_time() {
    let Fixture { instances, cloud, chosen, woken, .. } = fixture();
    for number in 0..450 {
        let machine = machine(&number.to_string(), "r");
        assert_eq!(instances.look(&chosen, &machine), Observed::NotAsked);
        assert_eq!(instances.look(&chosen, &machine), Observed::NotAsked, "one query");
    }
    settle().await;
    assert_eq!(*cloud.asked.lock(), [200], "one call at a time");
    for _ in 0..3 {
        cloud.go.notify_one();
        settle().await;
    }
    assert_eq!(*cloud.asked.lock(), [200, 200, 50]);
    assert_eq!(woken.lock().len(), 450);
    assert_eq!(instances.look(&chosen, &machine("7", "r")), Observed::Absent);
}

#[tokio::test(start_paused = true)]
async fn batches_machines_that_reconcile_one_by_one() {
    let Fixture { instances, cloud, chosen, .. } = fixture();
    // Answers come at once, for as many calls as there may be.
    let ask = async {
        for number in 0..100 {
            instances.look(&chosen, &machine(&number.to_string(), "r"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        settle().await;
    };
    let answer = async {
        loop {
            cloud.go.notify_one();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! { () = ask => {}, () = answer => {} }
    let asked = cloud.asked.lock();
    assert_eq!(asked.iter().sum::<usize>(), 100, "all are queried");
    assert!(asked.len() <= 7, "ten seconds, and a call every two: {asked:?}");
    assert_eq!(asked[0], 1, "the first query does not wait");
}

#[tokio::test(start_paused = true)]
async fn queries_accounts_independently() {
    let Fixture { instances, cloud, chosen, .. } = fixture();
    instances.look(&chosen, &machine("a", "r"));
    instances.look(&chosen, &machine("b", "s"));
    settle().await;
    assert_eq!(*cloud.asked.lock(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn answers_expire_and_are_swept() {
    let Fixture { instances, cloud, chosen, clock, .. } = fixture();
    instances.look(&chosen, &machine("a", "r"));
    settle().await;
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &machine("a", "r")), Observed::Absent);
    clock.advance(Duration::from_secs(31));
    assert_eq!(instances.look(&chosen, &machine("a", "r")), Observed::NotAsked);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(instances.cache.get_stale(&Uid("a".into())).is_none(), "it is swept");
}

#[tokio::test(start_paused = true)]
async fn drops_answers_to_queries_from_before_an_own_call() {
    let Fixture { instances, cloud, chosen, .. } = fixture();
    let a = machine("a", "r");
    instances.look(&chosen, &a);
    settle().await;
    instances.insert(&a.key, &a.uid, &instance());
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &a), Observed::Present(instance()));

    instances.forget(&a.uid);
    assert_eq!(instances.get(&a.uid), Observed::NotAsked);
    assert_eq!(instances.look(&chosen, &a), Observed::NotAsked);
    settle().await;
    assert_eq!(*cloud.asked.lock(), [1, 1], "it is queried again");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_unknown_and_not_absent() {
    let Fixture { instances, chosen, .. } = fixture();
    instances.look(&chosen, &machine("a", "r"));
    tokio::time::sleep(Duration::from_secs(601)).await;
    let observed = instances.look(&chosen, &machine("a", "r"));
    assert!(matches!(observed, Observed::Unknown(_)), "{observed:?}");
}

#[tokio::test(start_paused = true)]
async fn queries_again_after_a_provider_panicked() {
    let Fixture { instances, cloud, chosen, clock, woken } = fixture();
    *cloud.panics.lock() = true;
    for number in 0..201 {
        instances.look(&chosen, &machine(&number.to_string(), "r"));
    }
    settle().await;
    assert_eq!(*cloud.asked.lock(), [200, 1], "the lane continues");
    assert_eq!(woken.lock().len(), 200, "all are requeued");
    let observed = instances.look(&chosen, &machine("0", "r"));
    assert!(matches!(observed, Observed::Unknown(_)), "{observed:?}");

    cloud.go.notify_one();
    clock.advance(Duration::from_secs(31));
    instances.look(&chosen, &machine("0", "r"));
    settle().await;
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &machine("0", "r")), Observed::Absent);
}

#[tokio::test(start_paused = true)]
async fn keeps_the_result_of_an_own_call_until_it_is_used() {
    let Fixture { instances, clock, .. } = fixture();
    let a = machine("a", "r");
    instances.insert(&a.key, &a.uid, &instance());
    tokio::time::sleep(Duration::from_secs(120)).await;
    clock.advance(Duration::from_secs(120));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(instances.get(&a.uid), Observed::Present(instance()), "workers were busy");
    assert_eq!(instances.get(&a.uid), Observed::NotAsked, "it has expired after its use");

    instances.insert(&a.key, &a.uid, &instance());
    clock.advance(Duration::from_secs(301));
    assert_eq!(instances.get(&a.uid), Observed::NotAsked, "it was not used in time");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(instances.cache.get_stale(&Uid("a".into())).is_none(), "it is swept");
}

#[test]
fn expands_to_the_observed_instance() {
    let bare = Arc::new(Instance { status: ProviderStatus::default(), ..(*instance()).clone() });
    for observed in [Observed::Absent, Observed::Present(instance()), Observed::Present(bare)] {
        assert_eq!(CompactInstance::from(observed.clone()).expand(), observed);
    }
    let kept = CompactInstance::from(Observed::Present(instance()));
    assert!(kept.is_running());
    assert!(kept.observed.present().is_some_and(|bare| bare.status.is_empty()));
}

#[test]
fn expands_to_the_queried_machine() {
    for status in [ProviderStatus::default(), instance().status.clone()] {
        let cluster_label = Some("their-name-of-it".into());
        let asked = MachineRef { status: status.clone(), cluster_label, ..machine("a", "r") };
        let kept = CompactMachine::new(asked.clone()).expand();
        assert_eq!((kept.status, kept.cluster_label), (status, asked.cluster_label));
    }
}
