//! Groups of nodes that the cloud itself keeps at a size: Auto Scaling groups, as AWS calls them.
//!
//! A recycler asks which group an instance belongs to, looks at a group, stores on it what is being done to it, has one member after the
//! other replaced, and leaves it at the size that it had. Nothing here knows of Kubernetes.
//!
//! * [`group`]: what a cloud says about a group and its members; [`refresh`]: about a replacement that the cloud does by itself.
//! * [`mark`]: the text that is stored on a group, and what fits into it.
//! * [`error`]: why a group was not changed. [`none`]: what there is where no provider has groups.
//!
//! Invariants: a call that changes something may be repeated when its answer was lost, and says in its own docs what a repeat meets. A
//! size is never set without a look directly before, so that what somebody else has chosen meanwhile is not overwritten.
//!
//! Not here: waiting, retrying, the lease (the controllers do that), and machines with a Machine object ([`cloud`](crate::cloud)).

pub mod error;
pub mod group;
pub mod mark;
pub mod none;
pub mod refresh;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use self::error::GroupError;
pub use self::group::{
    Group, GroupName, GroupRef, Hook, InstanceFacts, InstanceId, Lifecycle, Member, Process, Sizes,
    Transition, WarmPool,
};
pub use self::none::NoGroups;
pub use self::refresh::{Refresh, RefreshId, RefreshPreferences, RefreshStatus};
use crate::Pending;
use crate::cloud::CloudError;

/// Calls a cloud about groups of nodes. Implementations are shared by all workers; they ask as whoever this process is.
pub trait NodeGroups: Debug + Send + Sync {
    /// What the cloud knows of these instances; those that it does not know (any more) are left out. Asked for in batches, however many.
    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>>;

    /// The group of each instance: `None` for one that is in no group, nothing for one that the cloud does not know.
    fn groups_of<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<BTreeMap<InstanceId, Option<GroupName>>, CloudError>> {
        Box::pin(async move {
            let found = self.instances(region, ids).await?;
            Ok(found.into_iter().map(|instance| (instance.id, instance.group)).collect())
        })
    }

    /// These groups, in any order; those that do not exist are left out.
    fn describe<'a>(
        &'a self,
        region: &'a str,
        groups: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>>;

    /// Stores a text on the group, in place of what is stored there. [`mark::fits`] says which texts can be stored; others are
    /// [`InvalidConfiguration`](crate::cloud::ErrorClass::InvalidConfiguration). A repeat is the same as the first.
    fn mark<'a>(
        &'a self,
        group: &'a GroupRef,
        value: &'a str,
    ) -> Pending<'a, Result<(), CloudError>>;

    /// Takes the text off the group. A group without one is fine, and so is one that is gone.
    fn unmark<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>>;

    /// Terminates a member; the group keeps its size and launches another. A repeat meets a member that is on its way out (which is
    /// fine) or [`NotFound`](crate::cloud::ErrorClass::NotFound): it is no member, and nothing was done.
    fn terminate<'a>(
        &'a self,
        group: &'a GroupRef,
        instance: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>>;

    /// Sets the sizes, if they are `from` when looked at directly before; otherwise [`GroupError::Changed`], and nothing was done. A group
    /// that already has the sizes `to` is left alone, so a repeat is fine.
    fn resize<'a>(
        &'a self,
        group: &'a GroupRef,
        from: Sizes,
        to: Sizes,
    ) -> Pending<'a, Result<(), GroupError>>;

    /// Has the cloud replace every member by itself. A repeat meets [`GroupError::RefreshRunning`], as does anybody else's refresh: whose it is,
    /// [`Group::refresh`] and the stored plan tell.
    fn start_refresh<'a>(
        &'a self,
        group: &'a GroupRef,
        preferences: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>>;

    /// Stops a refresh that is running; what was replaced stays replaced. None running is fine.
    fn cancel_refresh<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>>;
}
