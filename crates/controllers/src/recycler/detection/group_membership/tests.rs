use machinist_runtime::clock::SystemClock;

use super::*;
use crate::recycler::tests::cloud::{FakeCloud, SILENT};

#[tokio::test]
async fn a_region_that_does_not_answer_delays_no_other_one() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&answered);
    // Longer than this test takes.
    let timings = Timings { cloud_call: Duration::from_hours(1), ..Timings::default() };
    let membership = GroupMembership::new(
        Arc::<FakeCloud>::default(),
        Tasks::default(),
        Arc::new(SystemClock),
        timings,
        MachineTimings::default(),
        move || notify.notify_one(),
    );
    let (silent, other): (Arc<str>, Arc<str>) = (SILENT.into(), "eu-west-3".into());
    // The second instance is requested while the request for the first is pending in the silent region.
    for instance in ["i-1", "i-2"] {
        let instance = InstanceId::from(instance);
        assert_eq!(membership.get(&silent, &instance), Observed::NotAsked);
        assert_eq!(membership.get(&other, &instance), Observed::NotAsked);
        let notified = tokio::time::timeout(Duration::from_secs(60), answered.notified()).await;
        assert!(notified.is_ok(), "no answer about {instance}");
        assert_eq!(membership.get(&other, &instance), Observed::Present("workers".into()));
        assert_eq!(membership.get(&silent, &instance), Observed::NotAsked);
    }
}
