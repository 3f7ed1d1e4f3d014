//! Who is asked what, when, and what becomes of the answers.

use machinist_domain::key::ObjectKey;
use machinist_provider::Pending;
use machinist_provider::capacity::Credentials;
use machinist_provider::cloud::{
    CloudError, Deletion, InstanceState, Owned, ProviderStatus, Reach,
};
use machinist_runtime::clock::ManualClock;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::*;

/// A cloud that says "absent" to everything, when it is allowed to.
#[derive(Debug, Default)]
struct Slow {
    /// Whether the next call panics.
    panics: Mutex<bool>,
    asked: Mutex<Vec<usize>>,
    go: Notify,
}

impl Cloud for Slow {
    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<Sighting>> {
        Box::pin(async move {
            self.asked.lock().push(machines.len());
            let panics = std::mem::take(&mut *self.panics.lock());
            assert!(!panics, "as the test wants it");
            self.go.notified().await;
            machines.iter().map(|_| Sighting::Absent).collect()
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
}

struct Bed {
    instances: InstanceCache,
    cloud: Arc<Slow>,
    chosen: Chosen,
    clock: Arc<ManualClock>,
    woken: Arc<Mutex<Vec<String>>>,
}

fn bed() -> Bed {
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
    Bed { instances, cloud, chosen, clock, woken }
}

fn machine(name: &str, region: &str) -> MachineRef {
    MachineRef {
        key: ObjectKey::new("ns", name),
        uid: Uid(name.into()),
        attempt: 1,
        cluster: "c".into(),
        cluster_label: None,
        access: Realm {
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
async fn questions_are_asked_together_and_one_call_at_a_time() {
    let Bed { instances, cloud, chosen, woken, .. } = bed();
    for number in 0..450 {
        let machine = machine(&number.to_string(), "r");
        assert_eq!(instances.look(&chosen, &machine), Sighting::NotAsked);
        assert_eq!(instances.look(&chosen, &machine), Sighting::NotAsked, "and asked once");
    }
    settle().await;
    assert_eq!(*cloud.asked.lock(), [200], "the others wait for the answer");
    for _ in 0..3 {
        cloud.go.notify_one();
        settle().await;
    }
    assert_eq!(*cloud.asked.lock(), [200, 200, 50]);
    assert_eq!(woken.lock().len(), 450);
    assert_eq!(instances.look(&chosen, &machine("7", "r")), Sighting::Absent);
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_comes_back_one_by_one_is_asked_about_together() {
    let Bed { instances, cloud, chosen, .. } = bed();
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
    assert_eq!(asked.iter().sum::<usize>(), 100, "nobody is left out");
    assert!(asked.len() <= 7, "ten seconds, and a call every two: {asked:?}");
    assert_eq!(asked[0], 1, "the first one does not wait");
}

#[tokio::test(start_paused = true)]
async fn realms_do_not_wait_for_each_other() {
    let Bed { instances, cloud, chosen, .. } = bed();
    instances.look(&chosen, &machine("a", "r"));
    instances.look(&chosen, &machine("b", "s"));
    settle().await;
    assert_eq!(*cloud.asked.lock(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_serves_for_a_while_and_is_then_forgotten() {
    let Bed { instances, cloud, chosen, clock, .. } = bed();
    instances.look(&chosen, &machine("a", "r"));
    settle().await;
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &machine("a", "r")), Sighting::Absent);
    clock.advance(Duration::from_secs(31));
    assert_eq!(instances.look(&chosen, &machine("a", "r")), Sighting::NotAsked);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(instances.inner.state.lock().seen.is_empty(), "nobody keeps what does not serve");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_question_from_before_our_own_call_is_dropped() {
    let Bed { instances, cloud, chosen, .. } = bed();
    let a = machine("a", "r");
    instances.look(&chosen, &a);
    settle().await;
    instances.saw(&a, &instance());
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &a), Sighting::Present(instance()));

    instances.forget(&a.uid);
    assert_eq!(instances.known(&a.uid), None);
    assert_eq!(instances.look(&chosen, &a), Sighting::NotAsked);
    settle().await;
    assert_eq!(*cloud.asked.lock(), [1, 1], "it is asked anew");
}

#[tokio::test(start_paused = true)]
async fn silence_is_not_absence() {
    let Bed { instances, chosen, .. } = bed();
    instances.look(&chosen, &machine("a", "r"));
    tokio::time::sleep(Duration::from_secs(601)).await;
    let sighting = instances.look(&chosen, &machine("a", "r"));
    assert!(matches!(sighting, Sighting::Unknown(_)), "{sighting:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_is_asked_again() {
    let Bed { instances, cloud, chosen, clock, woken } = bed();
    *cloud.panics.lock() = true;
    for number in 0..201 {
        instances.look(&chosen, &machine(&number.to_string(), "r"));
    }
    settle().await;
    assert_eq!(*cloud.asked.lock(), [200, 1], "the lane goes on");
    assert_eq!(woken.lock().len(), 200, "nobody waits for an answer that will not come");
    let sighting = instances.look(&chosen, &machine("0", "r"));
    assert!(matches!(sighting, Sighting::Unknown(_)), "{sighting:?}");

    cloud.go.notify_one();
    clock.advance(Duration::from_secs(31));
    instances.look(&chosen, &machine("0", "r"));
    settle().await;
    cloud.go.notify_one();
    settle().await;
    assert_eq!(instances.look(&chosen, &machine("0", "r")), Sighting::Absent);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_our_own_call_waits_for_the_pass_that_takes_it() {
    let Bed { instances, clock, .. } = bed();
    let a = machine("a", "r");
    instances.saw(&a, &instance());
    tokio::time::sleep(Duration::from_secs(120)).await;
    clock.advance(Duration::from_secs(120));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(instances.known(&a.uid), Some(Sighting::Present(instance())), "workers were busy");
    assert_eq!(instances.known(&a.uid), None, "and it is old for everybody else");

    instances.saw(&a, &instance());
    clock.advance(Duration::from_secs(301));
    assert_eq!(instances.known(&a.uid), None, "nobody came");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(instances.inner.state.lock().seen.is_empty(), "and nobody keeps it");
}

#[test]
fn what_is_kept_is_what_was_seen() {
    let bare = Arc::new(Instance { status: ProviderStatus::default(), ..(*instance()).clone() });
    for sighting in [Sighting::Absent, Sighting::Present(instance()), Sighting::Present(bare)] {
        assert_eq!(Kept::from(sighting.clone()).sighting(), sighting);
    }
    let kept = Kept::from(Sighting::Present(instance()));
    assert!(kept.is_running());
    assert!(matches!(kept, Kept::Instance(bare, _) if bare.status.is_empty()));
}

#[test]
fn a_machine_is_asked_about_as_it_was() {
    for status in [ProviderStatus::default(), instance().status.clone()] {
        let cluster_label = Some("their-name-of-it".into());
        let asked = MachineRef { status: status.clone(), cluster_label, ..machine("a", "r") };
        let kept = KeptRef::new(&asked).whole();
        assert_eq!((kept.status, kept.cluster_label), (status, asked.cluster_label));
    }
}
