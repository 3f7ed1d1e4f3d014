//! Cluster, cloud and region of these verbs. The region is that of the flag, the environment, or the zones of the
//! Nodes.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use machinist_aws_spec::provider_id;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::metrics::NoMetrics;
use machinist_provider::node_groups::NodeGroups;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::provider::Providers;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::cluster::config::{self, ClusterFlags, Environment};
use machinist_runtime::timings::Timings;

use super::arguments::RecycleArguments;
use super::messages;
use crate::exit::Usage;
use crate::recycler;

/// The cluster, as kubectl resolves it. No request is sent.
pub(super) async fn cluster(
    arguments: &RecycleArguments,
    timings: &Timings,
) -> anyhow::Result<Cluster> {
    let mut environment = Environment::of_process();
    if let Some(path) = &arguments.kubeconfig {
        environment.kubeconfig = Some(path.into());
    }
    let choice = config::resolve(&ClusterFlags::default(), &environment).await.context(Usage)?;
    Cluster::new(choice.control, timings).context("cluster")
}

/// The node groups of the first provider that has any.
pub(super) fn node_groups(providers: &Providers) -> anyhow::Result<Arc<dyn NodeGroups>> {
    let start = Instant::now();
    let parts = Parts {
        secrets: Arc::new(NoSecrets),
        platform: Arc::new(NoPlatform),
        metrics: Arc::new(NoMetrics),
        clock: Arc::new(move || start.elapsed()),
        spawn: Arc::new(|task| drop(tokio::spawn(task))),
        timings: CloudTimings::default(),
    };
    let found = providers.iter().find_map(|provider| provider.node_groups(&parts));
    found.ok_or_else(|| anyhow::anyhow!(messages::NO_NODE_GROUPS).context(Usage))
}

/// The user has credentials of their own, so no Secret is read.
pub(crate) struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(std::future::ready(Err(Failure {
            category: Category::NotFound,
            retry: Retry::OnChange,
            message: messages::NO_SECRETS.to_owned(),
        })))
    }
}

pub(super) fn region(flag: Option<&str>) -> Option<String> {
    flag.map(str::to_owned).or_else(|| recycler::region().map(|region| region.to_string()))
}

pub(super) fn required_region(flag: Option<&str>) -> anyhow::Result<String> {
    region(flag).ok_or_else(|| anyhow::anyhow!(messages::NO_REGION).context(Usage))
}

/// The one region of these provider IDs.
pub(super) fn region_of_nodes<'a>(
    provider_ids: impl Iterator<Item = &'a str>,
) -> anyhow::Result<String> {
    let mut regions: Vec<_> = provider_ids.filter_map(provider_id::region_of).collect();
    regions.sort_unstable();
    regions.dedup();
    match regions.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => required_region(None),
        several => bail!(messages::several_regions(several)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_must_be_in_one_region() {
        let one = ["aws:///eu-west-1a/i-1", "aws:///eu-west-1b/i-2", "aws:///i-3"];
        assert_eq!(region_of_nodes(one.into_iter()).unwrap(), "eu-west-1");
        let two = ["aws:///eu-west-1a/i-1", "aws:///eu-west-2a/i-2"];
        let error = region_of_nodes(two.into_iter()).unwrap_err();
        assert!(error.to_string().contains("eu-west-1, eu-west-2"), "{error}");
    }
}
