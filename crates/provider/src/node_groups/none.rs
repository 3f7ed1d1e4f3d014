//! The node groups of a binary whose providers have none.

use super::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, InstanceLocation,
    NodeGroups, RefreshId, RefreshPreferences, Sizes,
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

macro_rules! refuse {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        impl NodeGroups for NoGroups {
            fn provider(&self) -> &'static str {
                "none"
            }

            /// Every Node has an instance here, so that the status of an EventRecycler shows why its group is unknown.
            fn locate(&self, provider_id: &str) -> Option<InstanceLocation> {
                let id = provider_id.rsplit('/').next()?.into();
                Some(InstanceLocation { id, region: Some("".into()) })
            }

            $(fn $name<'a>(&'a self, $(_: $argument),*) -> Pending<'a, $result> {
                refused()
            })*
        }
    };
}

refuse! {
    instances(&'a str, &'a [InstanceId]) -> Result<Vec<InstanceFacts>, CloudError>;
    describe(&'a str, &'a [GroupName]) -> Result<Vec<Group>, CloudError>;
    mark(&'a GroupRef, &'a str) -> Result<(), CloudError>;
    unmark(&'a GroupRef) -> Result<(), CloudError>;
    terminate(&'a GroupRef, &'a InstanceId) -> Result<(), CloudError>;
    resize(&'a GroupRef, Sizes, Sizes) -> Result<(), GroupError>;
    start_refresh(&'a GroupRef, RefreshPreferences) -> Result<RefreshId, GroupError>;
    cancel_refresh(&'a GroupRef) -> Result<(), CloudError>;
}
