//! The annotator's writes, recorded once, and replayed by a bare client on other objects with the same content.
//!
//! The audit log says which objects were written, in which order; the objects say what was written. The preconditions (uid and version) are
//! those of the objects of each replay. So a replayed request is the one that machinist would send, byte for byte.

use std::collections::HashMap;

use anyhow::{Context, Result};
use machinist_api::resource::MACHINE_SETS;
use serde_json::json;

use super::live::Live;
use crate::bed::Bed;
use crate::fleet::{self, Member};
use crate::raw::{Bare, Outgoing};

/// What the replaying client calls itself.
pub(super) const PARTY: &str = "bench-raw";

/// Writes, in order.
#[derive(Debug)]
pub(super) struct Recording(Vec<Recorded>);

#[derive(Debug)]
struct Recorded {
    name: String,
    annotations: HashMap<String, String>,
}

impl Recording {
    /// The writes of a run.
    pub(super) async fn of(bed: &Bed, live: &Live) -> Result<Self> {
        let mut members = fleet::list(&bed.setup, live.namespace()).await?;
        let recorded = live.writes().map(|entry| {
            let member = members.remove(&entry.name);
            let member =
                member.with_context(|| format!("{} was written twice or is gone", entry.name))?;
            Ok(Recorded { name: member.metadata.name, annotations: member.metadata.annotations })
        });
        Ok(Self(recorded.collect::<Result<_>>()?))
    }

    /// Writes the same to fresh objects, at most `concurrency` at once. Returns how many seconds it took, by the API server's clock.
    pub(super) async fn replay(&self, bed: &Bed, raw: &Bare, concurrency: usize) -> Result<f64> {
        let namespace = bed.namespace().await?;
        let members = fleet::create(&bed.setup, &namespace, self.0.len()).await?;
        let requests = self.0.iter().map(|write| write.request(&namespace, &members));
        let requests = requests.collect::<Result<Vec<_>>>()?;
        bed.quiet().await;
        raw.warm_up(concurrency).await?;
        let mut window = bed.audit_window()?;
        raw.send_all(requests, concurrency).await?;
        let span = window.wait_for_writes(PARTY, self.0.len()).await?;
        fleet::delete(&bed.setup, &namespace).await?;
        Ok(span.seconds())
    }
}

impl Recorded {
    fn request(&self, namespace: &str, members: &HashMap<String, Member>) -> Result<Outgoing> {
        let fresh = members.get(&self.name);
        let fresh = &fresh.with_context(|| format!("{} was not created", self.name))?.metadata;
        let body = json!({"metadata": {
            "uid": fresh.uid,
            "resourceVersion": fresh.resource_version,
            "annotations": self.annotations,
        }});
        let path = MACHINE_SETS.object_path(namespace, &self.name);
        Ok(Outgoing::merge_patch(path, &body))
    }
}
