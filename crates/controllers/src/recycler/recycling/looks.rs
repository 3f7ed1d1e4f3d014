//! Groups as they were last described. One answer serves every pass until it is as old as the interval between two looks, or something
//! was changed about the group.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_provider::node_groups::{GroupRef, NodeGroups};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::Sight;

/// Groups as they were last described.
#[derive(Debug)]
pub(super) struct Looks {
    groups: Arc<dyn NodeGroups>,
    clock: SharedClock,
    /// How long an answer is waited for.
    patience: Duration,
    last: Mutex<HashMap<GroupRef, (Duration, Sight)>>,
}

impl Looks {
    pub(super) fn new(groups: Arc<dyn NodeGroups>, clock: SharedClock, patience: Duration) -> Self {
        Self { groups, clock, patience, last: Mutex::default() }
    }

    /// What the group is like, not older than `age`.
    pub(super) async fn look(&self, group: &GroupRef, age: Duration) -> Sight {
        let now = self.clock.uptime();
        if let Some((at, sight)) = self.last.lock().get(group)
            && now.saturating_sub(*at) < age
        {
            return sight.clone();
        }
        let sight = self.look_now(group).await;
        self.last.lock().insert(group.clone(), (now, sight.clone()));
        sight
    }

    /// What the group is like at this moment.
    pub(super) async fn look_now(&self, group: &GroupRef) -> Sight {
        let names = [group.name.clone()];
        let asked = self.groups.describe(&group.region, &names);
        match tokio::time::timeout(self.patience, asked).await {
            Ok(Ok(mut found)) => match found.pop() {
                Some(group) => Sight::There(Box::new(group)),
                None => Sight::Gone,
            },
            Ok(Err(error)) => Sight::Unknown(error.failure()),
            Err(_) => Sight::Unknown(Failure {
                category: Category::Unavailable,
                retry: Retry::Backoff,
                message: "the cloud did not answer in time".to_owned(),
            }),
        }
    }

    /// Forgets what is known of the group: it was changed, or nobody recycles it any more.
    pub(super) fn forget(&self, group: &GroupRef) {
        self.last.lock().remove(group);
    }
}
