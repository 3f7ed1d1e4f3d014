//! The audit log has which objects were written, in which order; the objects have what was written. Uids and versions
//! are those of the objects of each replay, so a replayed request is the one that machinist would send.

use std::collections::HashMap;

use anyhow::{Context, Result};
use machinist_api::resource::{EVENTS, MACHINE_SETS};
use serde_json::{Value, json};

use super::live::Live;
use crate::bed::Bed;
use crate::fleet::{Fleet, Metadata};
use crate::raw::{Bare, Outgoing};

pub(super) const PARTY: &str = "bench-raw";

/// In the order in which they were answered.
#[derive(Debug)]
pub(super) struct Recording {
    objects: usize,
    writes: Vec<Recorded>,
}

#[derive(Debug)]
enum Recorded {
    Annotate { name: String, annotations: HashMap<String, String> },
    Say { name: String, event: Value },
}

impl Recording {
    pub(super) async fn of(bed: &Bed, live: &Live) -> Result<Self> {
        let mut members = live.fleet().now(&bed.cluster.setup).await?;
        let objects = members.len();
        let mut events = live.fleet().events(&bed.cluster.setup).await?;
        let recorded = live.writes().map(|entry| {
            let lost = || format!("{} {} was written twice or is gone", entry.resource, entry.name);
            if entry.resource == EVENTS.plural {
                let event = events.remove(&entry.name).with_context(lost)?;
                let name = event["regarding"]["name"].as_str().with_context(lost)?.to_owned();
                return Ok(Recorded::Say { name, event });
            }
            let Metadata { name, annotations, .. } =
                members.remove(&entry.name).with_context(lost)?.metadata;
            Ok(Recorded::Annotate { name, annotations })
        });
        let writes = recorded.collect::<Result<_>>()?;
        Ok(Self { objects, writes })
    }

    pub(super) fn objects(&self) -> usize {
        self.objects
    }

    /// To fresh objects. Returns seconds by the API server's clock.
    pub(super) async fn replay(&self, bed: &Bed, raw: &Bare, concurrency: usize) -> Result<f64> {
        let fleet = bed.fleet(self.objects).await?;
        let requests = self.writes.iter().map(|write| write.request(&fleet));
        let requests = requests.collect::<Result<Vec<_>>>()?;
        bed.quiet().await;
        raw.warm_up(concurrency).await?;
        let mut window = bed.cluster.audit_window()?;
        raw.send_all(requests, concurrency).await?;
        let span = window.wait_for_writes(PARTY, MACHINE_SETS.plural, self.objects).await?;
        fleet.delete(&bed.cluster.setup).await?;
        Ok(span.seconds())
    }
}

impl Recorded {
    fn request(&self, fleet: &Fleet) -> Result<Outgoing> {
        let (Self::Annotate { name, .. } | Self::Say { name, .. }) = self;
        let Metadata { namespace, uid, resource_version, .. } = &fleet.member(name)?.metadata;
        Ok(match self {
            Self::Annotate { annotations, .. } => {
                let body = json!({"metadata": {
                    "uid": uid, "resourceVersion": resource_version, "annotations": annotations,
                }});
                Outgoing::merge_patch(MACHINE_SETS.object_path(namespace, name), &body)
            }
            Self::Say { event, .. } => {
                let mut body = event.clone();
                // What the API server added goes; what named the recorded object names the fresh one.
                body["metadata"] =
                    json!({"namespace": namespace, "name": event["metadata"]["name"]});
                body["regarding"]["namespace"] = json!(namespace);
                body["regarding"]["uid"] = json!(uid);
                body["regarding"]["resourceVersion"] = json!(resource_version);
                Outgoing::create(EVENTS.collection_path(Some(namespace)), &body)
            }
        })
    }
}
