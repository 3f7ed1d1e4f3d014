//! The node groups of a binary whose providers have none.

use super::{
    Group, GroupChange, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId,
    InstanceLocation, NodeGroups,
};
use crate::Pending;
use crate::cloud::{CloudError, ErrorClass};
use crate::messages;

/// Refuses every call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoGroups;

fn refused<'a, T: Send + 'a, E: From<CloudError> + Send + 'a>() -> Pending<'a, Result<T, E>> {
    let error = CloudError::new(ErrorClass::InvalidConfiguration, messages::NO_NODE_GROUPS);
    Box::pin(std::future::ready(Err(error.into())))
}

impl NodeGroups for NoGroups {
    fn provider(&self) -> &'static str {
        "none"
    }

    /// Every Node has an instance here, so that the status of an EventRecycler shows why its group is unknown.
    fn locate(&self, provider_id: &str) -> Option<InstanceLocation> {
        let id = provider_id.rsplit('/').next()?.into();
        Some(InstanceLocation { id, region: Some("".into()) })
    }

    fn instances<'a>(
        &'a self,
        _: &'a str,
        _: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        refused()
    }

    fn describe<'a>(
        &'a self,
        _: &'a str,
        _: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        refused()
    }

    fn change<'a>(
        &'a self,
        _: &'a GroupRef,
        _: &'a GroupChange,
    ) -> Pending<'a, Result<(), GroupError>> {
        refused()
    }
}
