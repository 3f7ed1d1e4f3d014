//! A region that does not answer is in nobody else's way.

use machinist_provider::Pending;
use machinist_provider::cloud::CloudError;
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, RefreshId, RefreshPreferences, Sizes,
};
use machinist_runtime::clock::SystemClock;

use super::*;

/// A cloud where every instance is in the group `workers`, and one region never answers.
#[derive(Debug)]
struct OneSilentRegion;

const SILENT: &str = "eu-silent-1";

fn never<'a, T: 'a>() -> Pending<'a, T> {
    Box::pin(std::future::pending())
}

impl NodeGroups for OneSilentRegion {
    fn instances<'a>(
        &'a self,
        _: &'a str,
        _: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        never()
    }

    fn groups_of<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<BTreeMap<InstanceId, Option<GroupName>>, CloudError>> {
        if region == SILENT {
            return never();
        }
        let group = |id: &InstanceId| (id.clone(), Some(GroupName("workers".into())));
        Box::pin(std::future::ready(Ok(ids.iter().map(group).collect())))
    }

    fn describe<'a>(
        &'a self,
        _: &'a str,
        _: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        never()
    }

    fn mark<'a>(&'a self, _: &'a GroupRef, _: &'a str) -> Pending<'a, Result<(), CloudError>> {
        never()
    }

    fn unmark<'a>(&'a self, _: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        never()
    }

    fn terminate<'a>(
        &'a self,
        _: &'a GroupRef,
        _: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>> {
        never()
    }

    fn resize<'a>(
        &'a self,
        _: &'a GroupRef,
        _: Sizes,
        _: Sizes,
    ) -> Pending<'a, Result<(), GroupError>> {
        never()
    }

    fn start_refresh<'a>(
        &'a self,
        _: &'a GroupRef,
        _: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>> {
        never()
    }

    fn cancel_refresh<'a>(&'a self, _: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        never()
    }
}

#[tokio::test]
async fn a_region_that_does_not_answer_keeps_no_other_one_waiting() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let wake = Arc::clone(&answered);
    // Longer than anybody waits here.
    let timings = Timings { cloud_call: Duration::from_hours(1), ..Timings::default() };
    let belongings = Belongings::new(
        Arc::new(OneSilentRegion),
        Tasks::default(),
        Arc::new(SystemClock),
        timings,
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
