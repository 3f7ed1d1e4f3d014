//! The cluster and the cloud of these verbs.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
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
    found.ok_or_else(|| anyhow::anyhow!(messages::no_node_groups()).context(Usage))
}

/// The user has credentials of their own, so no Secret is read.
pub(crate) struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(std::future::ready(Err(Failure {
            category: Category::NotFound,
            retry: Retry::OnChange,
            message: messages::no_secrets(),
        })))
    }
}
