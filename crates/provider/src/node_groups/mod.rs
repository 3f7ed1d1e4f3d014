//! Groups of nodes that the cloud keeps at a desired size (Auto Scaling groups).
//!
//! Invariants: every change can be repeated after its response was lost. Sizes are set only directly after they were
//! read, so a concurrent change is not overwritten. Waiting, retrying and the lease are up to the controllers.

pub mod change;
pub mod group;
pub mod mark;
pub mod none;

use std::fmt::Debug;

pub use machinist_api::event_recycler::recycle::Sizes;

pub use self::change::{GroupChange, GroupError};
pub use self::group::{
    Group, GroupName, GroupRef, Hook, InstanceFacts, InstanceId, InstanceLocation, Lifecycle,
    Member, Refresh, RefreshStatus, WarmPool,
};
pub use self::none::NoGroups;
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

    /// These groups, in any order; unknown ones are omitted.
    fn describe<'a>(
        &'a self,
        region: &'a str,
        groups: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>>;

    /// Runs within a [`permit`](crate::permit), as [`Cloud::create`](crate::cloud::Cloud::create) does.
    fn change<'a>(
        &'a self,
        group: &'a GroupRef,
        change: &'a GroupChange,
    ) -> Pending<'a, Result<(), GroupError>>;
}
