//! Sets one condition of a Node. Many components write them: a strategic merge patch names only ours, and the
//! resourceVersion precondition turns a concurrent change into a conflict.

use std::fmt::Display;

use jiff::Timestamp;
use machinist_api::resource::{NODES, Subresource};
use machinist_api::wire::Node;
use machinist_domain::conditions::{Condition, whole_seconds};
use machinist_domain::meta::Meta;
use serde_json::{Value, json};

use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::{Writer, Written};

impl Writer {
    /// Sets a condition of the Node. If it has that status already, nothing is written, so its transition time stays.
    pub async fn set_node_condition(
        &self,
        node: &Node,
        condition: &Condition,
        now: Timestamp,
        plan: &(dyn Display + Sync),
    ) -> Result<Written, WriteError> {
        if has(node, condition) {
            return Ok(Written::Nothing);
        }
        let meta = Meta::of(&node.metadata);
        let body = patch(&meta, condition, now);
        let mut write = Write::whole(Verb::StrategicPatch, NODES, &meta.key, &body);
        write.part = Some(Subresource::Status);
        let answer = self.send(&write, plan).await.map_err(WriteError::or_replaced)?;
        Ok(if answer.is_some() { Written::Done } else { Written::LeftOut })
    }
}

fn has(node: &Node, wanted: &Condition) -> bool {
    let same = |found: &&machinist_api::wire::Condition| found.kind == wanted.kind;
    let found = node.status.conditions.iter().find(same);
    found.is_some_and(|found| found.status == wanted.status)
}

fn patch(meta: &Meta, condition: &Condition, now: Timestamp) -> Value {
    let now = whole_seconds(now);
    let mut condition = json!(Condition { last_transition: Some(now), ..condition.clone() });
    condition["lastHeartbeatTime"] = json!(now.to_string());
    json!({
        "metadata": {"uid": &*meta.uid.0, "resourceVersion": meta.version.to_string()},
        "status": {"conditions": [condition]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_has_one_condition_and_the_version_of_the_node() {
        let metadata = json!({"name": "n", "uid": "u", "resourceVersion": "7"});
        let node: Node = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        let condition = Condition::yes("Terminating").because("Asked", "soon");
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let body = patch(&Meta::of(&node.metadata), &condition, now);
        let time = "2026-01-02T03:04:05Z";
        assert_eq!(
            body,
            json!({
                "metadata": {"uid": "u", "resourceVersion": "7"},
                "status": {"conditions": [{
                    "type": "Terminating", "status": "True", "reason": "Asked", "message": "soon",
                    "lastTransitionTime": time, "lastHeartbeatTime": time,
                }]},
            })
        );
    }

    #[test]
    fn condition_with_another_reason_is_not_overwritten() {
        let wanted = Condition::yes("Terminating").because("Asked", "soon");
        for (kind, status, there) in [
            ("Terminating", "True", true),
            ("Terminating", "False", false),
            ("Ready", "True", false),
        ] {
            let conditions = json!([{"type": kind, "status": status, "reason": "Other"}]);
            let node = json!({"status": {"conditions": conditions}});
            assert_eq!(has(&serde_json::from_value(node).unwrap(), &wanted), there, "{kind}");
        }
    }
}
