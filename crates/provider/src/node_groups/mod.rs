//! Groups of nodes that the cloud keeps at a desired size (Auto Scaling groups).
//!
//! The recycler maps instances to groups, stores its plan on a group, replaces members, and restores the size.
//!
//! Invariants: every change can be repeated after its response was lost. Sizes are set only directly after they were
//! read, so a concurrent change is not overwritten.
//!
//! Not here: waiting, retrying and the lease (controllers), and instances with a Machine ([`cloud`](crate::cloud)).

pub mod error;
pub mod group;
pub mod mark;
pub mod none;
pub mod refresh;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use self::error::GroupError;
pub use self::group::{
    Group, GroupName, GroupRef, Hook, InstanceFacts, InstanceId, InstanceLocation, Lifecycle,
    Member, Process, Sizes, Transition, WarmPool,
};
pub use self::none::NoGroups;
pub use self::refresh::{Refresh, RefreshId, RefreshPreferences, RefreshStatus};
use crate::Pending;
use crate::cloud::CloudError;

/// Manages node groups, with the credentials of this process. Implementations are shared by all workers.
pub trait NodeGroups: Debug + Send + Sync {
    /// The name of the provider, for audit lines and metrics.
    fn provider(&self) -> &'static str;

    /// The instance that the provider ID of a Node names, if it is one of this cloud.
    fn locate(&self, provider_id: &str) -> Option<InstanceLocation>;

    /// These instances; unknown ones are omitted.
    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>>;

    /// The group of each instance: `None` without a group; unknown instances are omitted.
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

    /// These groups, in any order; unknown ones are omitted.
    fn describe<'a>(
        &'a self,
        region: &'a str,
        groups: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>>;

    /// Replaces the stored text of a group. A text that does not pass [`mark::fits`] is
    /// [`InvalidConfiguration`](crate::cloud::ErrorClass::InvalidConfiguration). Idempotent.
    fn mark<'a>(
        &'a self,
        group: &'a GroupRef,
        value: &'a str,
    ) -> Pending<'a, Result<(), CloudError>>;

    /// Removes the stored text. Idempotent, also for a group that does not exist.
    fn unmark<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>>;

    /// Terminates a member; the group launches a replacement. A repeat succeeds while the member terminates, then
    /// returns [`NotFound`](crate::cloud::ErrorClass::NotFound).
    fn terminate<'a>(
        &'a self,
        group: &'a GroupRef,
        instance: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>>;

    /// Sets the sizes if they are `from` directly before, else returns [`GroupError::Changed`]. Succeeds if they are
    /// already `to`.
    fn resize<'a>(
        &'a self,
        group: &'a GroupRef,
        from: Sizes,
        to: Sizes,
    ) -> Pending<'a, Result<(), GroupError>>;

    /// Starts an instance refresh. A repeat returns [`GroupError::RefreshRunning`], as does a refresh of another
    /// actor; [`Group::refresh`] and the stored plan distinguish them.
    fn start_refresh<'a>(
        &'a self,
        group: &'a GroupRef,
        preferences: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>>;

    /// Cancels a running refresh, if any. Replaced members stay.
    fn cancel_refresh<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>>;
}
