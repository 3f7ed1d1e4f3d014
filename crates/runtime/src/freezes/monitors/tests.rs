use std::sync::atomic::{AtomicUsize, Ordering};

use machinist_api::resource::MACHINES;
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{EffectKind, Initiator, ObjectRef};

use super::*;
use crate::clock::ManualClock;

struct Scene {
    freezes: Arc<Freezes>,
    clock: Arc<ManualClock>,
    tasks: Tasks,
    silent: Arc<AtomicUsize>,
}

/// `silent` of ten Nodes are not ready.
fn scene() -> Scene {
    let clock = Arc::<ManualClock>::default();
    let freezes = Arc::new(Freezes::for_tests(clock.clone(), &Arc::default()));
    let (tasks, silent) = (Tasks::default(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&silent);
    let count = move || Gauge { count: counted.load(Ordering::Relaxed), total: 10 };
    let first = freezes.count(&tasks, Reason::NodesNotReady, "Nodes", Vec::new(), count.clone());
    let again = freezes.count(&tasks, Reason::NodesNotReady, "Nodes", Vec::new(), count);
    assert!(first.is_some() && again.is_none(), "controllers share a counter");
    Scene { freezes, clock, tasks, silent }
}

impl Scene {
    fn permits(&self, initiator: Initiator) -> bool {
        let machine = ObjectRef { kind: MACHINES.kind, key: ObjectKey::new("ns", "a") };
        self.freezes.permit(EffectKind::Delete, initiator, &machine).is_ok()
    }
}

#[tokio::test]
async fn count_directly_before_a_change_stops_what_a_controller_decides() {
    let scene = scene();
    assert!(scene.permits(Initiator::Controller));
    scene.silent.store(6, Ordering::Relaxed);
    assert!(!scene.permits(Initiator::Controller));
    assert!(scene.permits(Initiator::User) && scene.permits(Initiator::Cloud));
    scene.silent.store(4, Ordering::Relaxed);
    assert!(!scene.permits(Initiator::Controller), "it goes on for a while");
    scene.clock.advance(FreezeTimings::default().hold);
    assert!(scene.permits(Initiator::Controller));
    scene.tasks.stop().await;
}

/// A process that dies in a freeze that is about to end must not end it.
#[tokio::test]
async fn new_process_begins_a_freeze_below_the_limit() {
    let scene = scene();
    scene.silent.store(5, Ordering::Relaxed);
    assert!(!scene.permits(Initiator::Controller));
    scene.tasks.stop().await;
}

#[tokio::test]
async fn recount_begins_and_ends_the_freeze_and_notifies() {
    let scene = scene();
    let recount = scene.freezes.monitors.all[0].recount.clone();
    let news = Arc::new(Notify::new());
    let heard = Arc::clone(&news);
    scene.freezes.subscribe(move |_| heard.notify_one());
    tokio::time::pause();
    tokio::time::sleep(FreezeTimings::default().gather * 2).await;
    scene.silent.store(9, Ordering::Relaxed);
    recount.request();
    news.notified().await;
    let text = format!("{:?}", scene.freezes.ledger.read());
    assert!(text.contains("9 of 10 Nodes are not ready (limit 50%)"), "{text}");
    scene.silent.store(0, Ordering::Relaxed);
    recount.request();
    tokio::time::sleep(FreezeTimings::default().gather * 2).await;
    scene.clock.advance(FreezeTimings::default().hold);
    news.notified().await;
    assert!(scene.freezes.ledger.read().is_empty());
    scene.tasks.stop().await;
}
