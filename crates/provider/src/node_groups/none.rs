//! The node groups of a binary whose providers have none.

use super::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, NodeGroups, RefreshId,
    RefreshPreferences, Sizes,
};
use crate::Pending;
use crate::cloud::{CloudError, ErrorClass};
use crate::messages;

/// Refuses every call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoGroups;

fn none<'a, T: Send + 'a, E: From<CloudError> + Send + 'a>() -> Pending<'a, Result<T, E>> {
    Box::pin(std::future::ready(Err(CloudError::new(
        ErrorClass::InvalidConfiguration,
        messages::NO_NODE_GROUPS,
    )
    .into())))
}

impl NodeGroups for NoGroups {
    fn instances<'a>(
        &'a self,
        _: &'a str,
        _: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        none()
    }

    fn describe<'a>(
        &'a self,
        _: &'a str,
        _: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        none()
    }

    fn mark<'a>(&'a self, _: &'a GroupRef, _: &'a str) -> Pending<'a, Result<(), CloudError>> {
        none()
    }

    fn unmark<'a>(&'a self, _: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        none()
    }

    fn terminate<'a>(
        &'a self,
        _: &'a GroupRef,
        _: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>> {
        none()
    }

    fn resize<'a>(
        &'a self,
        _: &'a GroupRef,
        _: Sizes,
        _: Sizes,
    ) -> Pending<'a, Result<(), GroupError>> {
        none()
    }

    fn start_refresh<'a>(
        &'a self,
        _: &'a GroupRef,
        _: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>> {
        none()
    }

    fn cancel_refresh<'a>(&'a self, _: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        none()
    }
}
