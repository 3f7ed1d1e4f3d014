//! Ties the recycler to the provider that has node groups.

use std::sync::Arc;

use machinist_controllers::recycler::Settings;
use machinist_provider::Pending;
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, NodeGroups, RefreshId,
    RefreshPreferences, Sizes,
};
use machinist_provider::provider::Providers;
use machinist_runtime::controller::start::Shared;

use crate::parts;

/// Where the process is, as the AWS tools find it.
const REGION: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
/// The node that the process runs on, as its manifest tells it.
const NODE_NAME: &str = "NODE_NAME";

/// What the recycler is made of.
pub(crate) fn settings(providers: &Providers, shared: &Arc<Shared>) -> Settings {
    let parts = parts::of(shared);
    let groups = providers.iter().find_map(|provider| provider.node_groups(&parts));
    Settings {
        groups: groups.unwrap_or_else(|| Arc::new(NoGroups)),
        region: REGION.into_iter().find_map(variable),
        own_node: variable(NODE_NAME),
    }
}

fn variable(name: &str) -> Option<Arc<str>> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(Arc::from)
}

/// None of the providers has node groups. Events are counted, and lead nowhere; the status says why.
#[derive(Debug)]
struct NoGroups;

fn none<'a, T: Send + 'a, E: From<CloudError> + Send + 'a>() -> Pending<'a, Result<T, E>> {
    let why = "none of this binary's providers has node groups";
    Box::pin(std::future::ready(Err(CloudError::new(ErrorClass::InvalidConfiguration, why).into())))
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
