//! Events by their message, with the Nodes that they happened on: that of the pod with the same uid, else their host.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use jiff::Timestamp;
use machinist_api::resource::{CORE_EVENTS, NODES, PODS};
use machinist_api::wire::{Event, Node, PlacedPod};
use machinist_aws_spec::provider_id;
use machinist_runtime::cluster::Session;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use serde::Serialize;

use super::arguments::{RecycleArguments, SearchArguments};
use super::{environment, messages, show};
use crate::verbs::table::{age, cut, table};

/// The most characters of a message in the table, without and with a column for instances.
const MESSAGE: usize = 70;
const SHORT_MESSAGE: usize = 60;

/// An Event in JSON and YAML.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    namespace: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    involved_kind: String,
    involved_name: String,
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    count: i32,
    last_seen: Option<Timestamp>,
    message: String,
}

pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &SearchArguments,
) -> anyhow::Result<()> {
    let cluster = environment::cluster(common, &Timings::default()).await?;
    let session = cluster.session(UserAgent::of("recycle"));
    let namespace = arguments.namespace.as_deref();
    let events: Vec<Event> =
        session.list_live(CORE_EVENTS, namespace, "").await.context("Events")?;
    let mut events: Vec<_> = events
        .into_iter()
        .filter(|event| arguments.search.iter().any(|term| event.message.contains(term)))
        .collect();
    events.sort_by_key(last_seen);
    let placement = Placement::of(&session, &events, arguments.show_instance_id).await?;
    let shown: Vec<_> = events.into_iter().map(|event| placement.shown(event)).collect();
    if shown.is_empty() {
        bail!(messages::no_event(&arguments.search));
    }
    show(arguments.output, &shown, || as_table(&shown, arguments.show_instance_id))
}

struct Placement {
    /// Node by namespace, name and uid of the pod.
    pods: BTreeMap<(String, String, String), String>,
    /// Provider ID by Node; empty unless instances are shown.
    nodes: BTreeMap<String, String>,
}

impl Placement {
    /// Pods are listed only in namespaces with Events.
    async fn of(session: &Session, events: &[Event], with_nodes: bool) -> anyhow::Result<Self> {
        let about_pods = events.iter().filter(|event| event.involved_object.kind == "Pod");
        let namespaces: BTreeSet<_> =
            about_pods.map(|event| event.involved_object.namespace.as_str()).collect();
        let mut pods = BTreeMap::new();
        for namespace in namespaces {
            let listed = session.list_live(PODS, Some(namespace), "").await.context("Pods")?;
            for PlacedPod { metadata, spec, .. } in listed {
                if let Some(node) = spec.node_name.filter(|node| !node.is_empty()) {
                    pods.insert((metadata.namespace, metadata.name, metadata.uid), node);
                }
            }
        }
        let mut nodes = BTreeMap::new();
        if with_nodes {
            let listed = session.list_live(NODES, None, "").await.context("Nodes")?;
            for Node { metadata, spec, .. } in listed {
                nodes.insert(metadata.name, spec.provider_id.unwrap_or_default());
            }
        }
        Ok(Self { pods, nodes })
    }

    fn node(&self, event: &Event) -> Option<String> {
        let about = &event.involved_object;
        let host = [&event.source.host, &event.reporting_instance];
        let host = || host.into_iter().find(|host| !host.is_empty()).cloned();
        match about.kind.as_str() {
            "Node" => Some(about.name.clone()),
            "Pod" => {
                let key = (about.namespace.clone(), about.name.clone(), about.uid.clone());
                self.pods.get(&key).cloned().or_else(host)
            }
            _ => None,
        }
    }

    fn shown(&self, event: Event) -> Shown {
        let node = self.node(&event);
        let found = node.as_ref().and_then(|node| self.nodes.get(node));
        Shown {
            node,
            instance_id: found.and_then(|id| provider_id::instance_of(id)).map(str::to_owned),
            count: count(&event),
            last_seen: last_seen(&event),
            namespace: event.metadata.namespace,
            name: event.metadata.name,
            kind: event.kind,
            reason: event.reason,
            involved_kind: event.involved_object.kind,
            involved_name: event.involved_object.name,
            message: event.message,
        }
    }
}

fn count(event: &Event) -> i32 {
    let series = event.series.as_ref().map(|series| series.count);
    series.or(event.count).unwrap_or(1).max(1)
}

fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time);
    series
        .or(event.last_timestamp)
        .or(event.event_time)
        .or(event.first_timestamp)
        .or(event.metadata.creation_timestamp)
}

fn as_table(shown: &[Shown], with_instance: bool) -> String {
    let mut headings = vec!["NAMESPACE", "TYPE", "REASON", "OBJECT", "NODE"];
    if with_instance {
        headings.push("INSTANCE ID");
    }
    headings.extend(["COUNT", "LAST SEEN", "MESSAGE"]);
    let now = Timestamp::now();
    let row = |one: &Shown| {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let mut cells = vec![
            one.namespace.clone(),
            one.kind.clone(),
            one.reason.clone(),
            format!("{}/{}", one.involved_kind, one.involved_name),
            or_dash(&one.node),
        ];
        if with_instance {
            cells.push(or_dash(&one.instance_id));
        }
        let seen = one.last_seen.map(|seen| age(now.duration_since(seen).as_secs()));
        cells.extend([
            one.count.to_string(),
            or_dash(&seen),
            cut(&one.message, if with_instance { SHORT_MESSAGE } else { MESSAGE }),
        ]);
        cells
    };
    table(&headings, shown.iter().map(row).collect())
}
