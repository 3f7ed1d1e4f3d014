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
struct Shown {
    instance_id: String,
    cluster: Option<String>,
    node_group: Option<String>,
    auto_scaling_group: Option<String>,
    instance_type: Option<String>,
    zone: Option<String>,
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

impl Shown {
    fn of(facts: &InstanceFacts) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            instance_id: facts.id.to_string(),
            cluster: text(&facts.cluster),
            node_group: text(&facts.node_group),
            auto_scaling_group: facts.group.as_ref().map(ToString::to_string),
            instance_type: text(&facts.instance_type),
            zone: text(&facts.zone),
            state: format!("{:?}", facts.state),
        }
    }
}

fn as_table(shown: &[Shown]) -> String {
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows = shown.iter().map(|one| {
        vec![
            one.instance_id.clone(),
            cell(&one.cluster),
            cell(&one.node_group),
            cell(&one.auto_scaling_group),
            cell(&one.instance_type),
            one.state.clone(),
        ]
    });
    let headings = ["INSTANCE ID", "CLUSTER", "NODE GROUP", "AUTO SCALING GROUP", "TYPE", "STATE"];
    table(&headings, rows.collect())
}
