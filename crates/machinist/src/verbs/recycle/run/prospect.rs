//! What will happen to a group, before anything does: for the question on the terminal, and for `--dry-run`.

use anyhow::bail;
use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::spec::Strategy;
use machinist_controllers::recycler::recycling::mark::Mark;
use machinist_controllers::recycler::recycling::{Refusal, Request, Sight, begin};
use machinist_domain::key::Uid;
use machinist_provider::node_groups::{Group, GroupRef};
use serde::Serialize;

use super::super::arguments::StrategyName;
use super::bench::{BY_HAND, Bench};

/// What will happen to a group.
#[derive(Debug)]
pub(in super::super) struct Prospect {
    pub(in super::super) recycle: Recycle,
    /// Who began it, if it is taken up again.
    resumed: Option<String>,
    /// What people should know about the group.
    remarks: Vec<String>,
}

/// The same for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    group: &'a str,
    region: &'a str,
    strategy: Strategy,
    resumed: bool,
    min: u32,
    max: u32,
    desired: u32,
    instances: Vec<ShownInstance<'a>>,
    remarks: &'a [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownInstance<'a> {
    instance_id: &'a str,
    node: Option<&'a str>,
}

/// Looks at a group and says what will happen, or why nothing will.
pub(in super::super) async fn of(
    bench: &Bench,
    group: &GroupRef,
    strategy: StrategyName,
) -> anyhow::Result<Prospect> {
    let GroupRef { region, name } = group;
    let found = match bench.recycling.look(group).await {
        Sight::There(found) => found,
        Sight::Gone => bail!("there is no Auto Scaling group {name} in {region}"),
        Sight::Unknown(failure) => bail!("{group} cannot be looked at: {}", failure.message),
    };
    let now = bench.clock.now();
    let nodes = bench.recycling.nodes_of(found.members.iter().map(|member| &member.id));
    if let Some(mark) = found.mark.as_deref().and_then(Mark::read) {
        if !mark.owner.starts_with(BY_HAND) {
            bail!("{group} is being recycled already, by {}", mark.owner);
        }
        let mut recycle = mark.resume(region, &name.0, 0, now);
        for instance in &mut recycle.instances {
            let node = nodes.get(&instance.id.as_str().into());
            instance.node = node.map(|node| node.meta.key.name.to_string());
        }
        let resumed = Some(format!("{} at {}", mark.owner, mark.started));
        return Ok(Prospect { recycle, resumed, remarks: remarks(&found) });
    }
    let request = Request {
        group: group.clone(),
        asked_by: Uid(format!("hand{:08x}", fastrand::u32(..)).into()),
        strategy: strategy.into(),
        events: 0,
    };
    let own = bench.recycling.own_node();
    match begin(&request, &found, &nodes, own, |_| true, now) {
        Ok(recycle) => Ok(Prospect { recycle, resumed: None, remarks: remarks(&found) }),
        Err(refusal @ Refusal::Empty) => bail!("{group}: {refusal}; there is nothing to recycle"),
        Err(refusal) => bail!("{group} cannot be recycled: {refusal}"),
    }
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Replace => Self::Replace,
            StrategyName::InstanceRefresh => Self::InstanceRefresh,
            StrategyName::ScaleToZero => Self::ScaleToZero,
        }
    }
}

/// What is out of the ordinary but in nobody's way.
fn remarks(group: &Group) -> Vec<String> {
    let mut remarks = Vec::new();
    if group.managed_by_eks {
        remarks.push("EKS manages this group".to_owned());
    }
    let protected = group.members.iter().filter(|member| member.protected_from_scale_in).count();
    if protected > 0 {
        remarks.push(format!("{protected} of its instances are protected from scale-in"));
    }
    for hook in &group.hooks {
        let transition = hook.transition;
        remarks.push(format!("hook {} ({transition:?}) may take {:?}", hook.name, hook.patience));
    }
    if let Some(pool) = &group.warm_pool {
        remarks.push(format!("it has a warm pool of {}", pool.size));
    }
    remarks
}

impl Prospect {
    /// The recycle, whose turn has come: its times begin now, however long it stood behind others.
    pub(super) fn in_turn(self, now: Timestamp) -> Recycle {
        // What was begun before began then.
        let started = if self.resumed.is_some() { self.recycle.started } else { now };
        Recycle { started, step_since: now, ..self.recycle }
    }

    pub(super) fn shown(&self) -> Shown<'_> {
        let recycle = &self.recycle;
        let instances = recycle.instances.iter().map(|instance| ShownInstance {
            instance_id: &instance.id,
            node: instance.node.as_deref(),
        });
        Shown {
            group: &recycle.group,
            region: &recycle.region,
            strategy: recycle.strategy,
            resumed: self.resumed.is_some(),
            min: recycle.original.min,
            max: recycle.original.max,
            desired: recycle.original.desired,
            instances: instances.collect(),
            remarks: &self.remarks,
        }
    }
}

/// For people.
pub(super) fn as_text(prospects: &[Prospect]) -> String {
    let mut text = String::new();
    for Prospect { recycle, resumed, remarks } in prospects {
        let Recycle { group, region, original, .. } = recycle;
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        let how = match recycle.strategy {
            Strategy::Replace => {
                "every instance is drained, terminated and replaced, one after the other"
            }
            Strategy::InstanceRefresh => "AWS replaces every instance, by an instance refresh",
            Strategy::ScaleToZero => {
                "ALL its instances are terminated AT ONCE, without a drain; then it comes back"
            }
        };
        line(format!("{group} ({region}): {how}"));
        if let Some(by) = resumed {
            line(format!("  taken up again: it was begun by {by}"));
        }
        let (min, max, desired) = (original.min, original.max, original.desired);
        line(format!("  it is left with min {min}, max {max}, desired {desired}"));
        for instance in &recycle.instances {
            let node = instance.node.as_deref().unwrap_or("no node");
            line(format!("  {}  {node}", instance.id));
        }
        for remark in remarks {
            line(format!("  note: {remark}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_begin_when_its_turn_comes_and_what_was_begun_before_began_then() {
        let recycle: Recycle = serde_json::from_value(serde_json::json!({
            "id": "hand-1", "group": "b", "region": "eu-west-3", "strategy": "Replace",
            "step": "Planned", "original": {"min": 1, "max": 4, "desired": 3}, "events": 0,
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:00:00Z",
        }))
        .unwrap();
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        for (resumed, started) in
            [(None, now), (Some("by-hand/a@b at noon".to_owned()), recycle.started)]
        {
            let prospect = Prospect { recycle: recycle.clone(), resumed, remarks: Vec::new() };
            let turn = prospect.in_turn(now);
            assert_eq!((turn.started, turn.step_since), (started, now));
        }
    }
}
