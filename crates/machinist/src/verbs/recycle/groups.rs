//! `machinist recycle groups`: which node groups instances belong to.

use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::{Context, bail};
use machinist_aws_spec::provider_id::is_instance_id;
use machinist_provider::node_groups::{InstanceFacts, InstanceId};
use machinist_provider::provider::Providers;
use serde::Serialize;

use super::arguments::{GroupsArguments, RecycleArguments};
use super::{environment, messages, show};
use crate::exit::Usage;
use crate::verbs::table::table;

/// An instance in JSON and YAML.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    instance_id: &'a str,
    cluster: Option<&'a str>,
    node_group: Option<&'a str>,
    auto_scaling_group: Option<&'a str>,
    instance_type: Option<&'a str>,
    zone: Option<&'a str>,
    state: String,
}

pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &GroupsArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let ids = ids(&arguments.ids)?;
    let region = environment::required_region(common.region.as_deref())?;
    let cloud = environment::node_groups(providers)?;
    let found = cloud.instances(&region, &ids).await.context("EC2")?;
    let found: BTreeMap<InstanceId, InstanceFacts> =
        found.into_iter().map(|facts| (facts.id.clone(), facts)).collect();
    let wanted = |facts: &&InstanceFacts| {
        arguments.cluster.is_none() || facts.cluster.as_deref() == arguments.cluster.as_deref()
    };
    // In the order of the arguments.
    let shown: Vec<_> =
        ids.iter().filter_map(|id| found.get(id)).filter(wanted).map(Shown::of).collect();
    show(arguments.output, &shown, || as_table(&shown))?;
    let missing: Vec<_> =
        ids.iter().filter(|id| !found.contains_key(*id)).map(ToString::to_string).collect();
    if !missing.is_empty() {
        bail!(messages::unknown_instances(&region, &missing));
    }
    Ok(())
}

/// The IDs, each once.
fn ids(arguments: &[String]) -> anyhow::Result<Vec<InstanceId>> {
    let mut text = String::new();
    if arguments.iter().any(|argument| argument == "-") {
        std::io::stdin().read_to_string(&mut text).context("stdin").context(Usage)?;
    }
    let named = arguments.iter().map(String::as_str).filter(|&argument| argument != "-");
    let mut ids: Vec<InstanceId> = Vec::new();
    for id in named.chain(text.split_whitespace()) {
        if !is_instance_id(id) {
            return Err(anyhow::anyhow!(messages::not_an_instance(id)).context(Usage));
        }
        let id = InstanceId::from(id);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

impl<'a> Shown<'a> {
    fn of(facts: &'a InstanceFacts) -> Self {
        Self {
            instance_id: &facts.id.0,
            cluster: facts.cluster.as_deref(),
            node_group: facts.node_group.as_deref(),
            auto_scaling_group: facts.group.as_ref().map(|group| &*group.0),
            instance_type: facts.instance_type.as_deref(),
            zone: facts.zone.as_deref(),
            state: format!("{:?}", facts.state),
        }
    }
}

fn as_table(shown: &[Shown<'_>]) -> String {
    let rows = shown.iter().map(|one| {
        let Shown { cluster, node_group, auto_scaling_group, instance_type, .. } = *one;
        let cells = [cluster, node_group, auto_scaling_group, instance_type];
        let cells = cells.map(|cell| cell.unwrap_or("-"));
        let row = [one.instance_id].into_iter().chain(cells).chain([one.state.as_str()]);
        row.map(str::to_owned).collect()
    });
    let headings = ["INSTANCE ID", "CLUSTER", "NODE GROUP", "AUTO SCALING GROUP", "TYPE", "STATE"];
    table(&headings, rows.collect())
}
