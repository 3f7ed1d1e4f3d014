//! A region that does not answer is in nobody else's way.

use machinist_runtime::clock::SystemClock;

use super::*;
use crate::recycler::tests::cloud::{FakeCloud, SILENT};

#[tokio::test]
async fn a_region_that_does_not_answer_keeps_no_other_one_waiting() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let wake = Arc::clone(&answered);
    // Longer than anybody waits here.
    let timings = Timings { cloud_call: Duration::from_hours(1), ..Timings::default() };
    let belongings = Belongings::new(
        Arc::<FakeCloud>::default(),
        Tasks::default(),
        Arc::new(SystemClock),
        timings,
        MachineTimings::default(),
        move || wake.notify_one(),
    );
    let (silent, other): (Arc<str>, Arc<str>) = (SILENT.into(), "eu-west-3".into());
    // The second is asked for when the silent region has been waited for since the first.
    for instance in ["i-1", "i-2"] {
        assert_eq!(belongings.look(&silent, instance), Belonging::NotYet);
        assert_eq!(belongings.look(&other, instance), Belonging::NotYet);
        let told = tokio::time::timeout(Duration::from_secs(60), answered.notified()).await;
        assert!(told.is_ok(), "nobody has answered about {instance}");
        assert_eq!(belongings.look(&other, instance), Belonging::Group("workers".into()));
        assert_eq!(belongings.look(&silent, instance), Belonging::NotYet);
    }
}
