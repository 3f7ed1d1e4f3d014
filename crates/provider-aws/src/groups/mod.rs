//! Auto Scaling groups. The group of an instance is the value of EC2's tag `aws:autoscaling:groupName`, so EKS managed
//! groups need no special case.
//!
//! Sizes are set, and members terminated, only directly after the group was described. Nothing is retried or cached.

mod calls;
mod convert;
mod errors;

use std::fmt;
use std::sync::Arc;

use machinist_aws_spec::provider_id;
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{
    Group, GroupChange, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId,
    InstanceLocation, NodeGroups,
};
use machinist_provider::parts::Parts;
use machinist_provider::platform::Platform;

use self::calls::Caller;
use self::errors::classify_group_error;
use crate::client::{Connector, ENDPOINT_SERVICE};
use crate::clients::Clients;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::not_sent;

/// The most values in one EC2 filter, and names in one call.
const INSTANCES_TOGETHER: usize = 200;
const GROUPS_TOGETHER: usize = 50;

/// As OpenShift names it.
const SCALING_SERVICE: &str = "autoscaling";

pub(crate) struct AutoScaling {
    clients: Clients,
    /// The region is replaced by that of each call; endpoints and certificates are the cluster's, if it has none.
    access: CloudAccess,
    platform: Arc<dyn Platform>,
}

impl fmt::Debug for AutoScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoScaling").finish_non_exhaustive()
    }
}

pub(crate) fn ambient() -> CloudAccess {
    CloudAccess {
        region: "".into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    }
}

impl AutoScaling {
    pub(crate) fn new(parts: &Parts, access: CloudAccess, connector: Connector) -> Self {
        let clients = Clients::new(connector, Arc::clone(&parts.clock));
        Self { clients, access, platform: Arc::clone(&parts.platform) }
    }

    async fn caller(&self, region: &str) -> Result<Caller, CloudError> {
        let settings = ClusterSettings::of(&*self.platform).await.map_err(not_sent)?;
        let certificates = self.platform.ca_bundle().await.map_err(not_sent)?;
        let own = &self.access;
        let endpoint =
            |service| own.endpoint.clone().or_else(|| settings.endpoint(service).map(Arc::from));
        let access = CloudAccess {
            region: region.into(),
            credentials: own.credentials.clone(),
            endpoint: endpoint(ENDPOINT_SERVICE),
            ca_bundle: own.ca_bundle.clone().or(certificates),
        };
        let ec2 = self.clients.get(&access).await;
        let ec2 = ec2.map_err(|error| classify_group_error(&error, &access))?;
        Ok(Caller::new(ec2, endpoint(SCALING_SERVICE).as_deref()))
    }
}

impl NodeGroups for AutoScaling {
    fn provider(&self) -> &'static str {
        "aws"
    }

    fn locate(&self, provider_id: &str) -> Option<InstanceLocation> {
        let id = provider_id::instance_of(provider_id)?.into();
        Some(InstanceLocation { id, region: provider_id::region_of(provider_id).map(Arc::from) })
    }

    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(ids.len());
            if ids.is_empty() {
                return Ok(found);
            }
            let caller = self.caller(region).await?;
            for some in ids.chunks(INSTANCES_TOGETHER) {
                found.extend(caller.instances(some).await?);
            }
            Ok(found)
        })
    }

    fn describe<'a>(
        &'a self,
        region: &'a str,
        names: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        Box::pin(async move {
            let mut groups = Vec::with_capacity(names.len());
            if names.is_empty() {
                return Ok(groups);
            }
            let caller = self.caller(region).await?;
            for some in names.chunks(GROUPS_TOGETHER) {
                for group in caller.groups(some).await? {
                    match caller.with_details(group).await {
                        Ok(group) => groups.push(group),
                        // It was deleted between two calls.
                        Err(error) if error.class == ErrorClass::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(groups)
        })
    }

    fn change<'a>(
        &'a self,
        group: &'a GroupRef,
        change: &'a GroupChange,
    ) -> Pending<'a, Result<(), GroupError>> {
        Box::pin(async move {
            let (caller, name) = (self.caller(&group.region).await?, &group.name);
            match change {
                GroupChange::Mark(text) => caller.mark(name, text).await?,
                GroupChange::Unmark => caller.unmark(name).await?,
                GroupChange::Terminate(id) => caller.terminate(group, id).await?,
                GroupChange::Resize { from, to } => caller.resize(name, *from, *to).await?,
                GroupChange::StartRefresh { min_healthy } => {
                    caller.start_refresh(name, *min_healthy).await?;
                }
                GroupChange::CancelRefresh => caller.cancel_refresh(name).await?,
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod settings_tests;
