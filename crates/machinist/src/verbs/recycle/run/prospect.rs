//! What will happen to a group, before anything does: for the question on the terminal, and for `--dry-run`.
//!
//! Between the look at the group and the beginning there may be hours: a question that stands open, other groups that come first. So the group is
//! looked at once more when its turn comes ([`Prospect::in_turn`]), and where that shows that somebody else was faster, nothing is begun. A plan whose tag
//! is gone would be taken for a new one, and every instance of the group would go a second time.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::spec::Strategy;
use machinist_controllers::recycler::recycling::mark::Mark;
use machinist_controllers::recycler::recycling::{Refusal, Request, Sight, begin, group_of};
use machinist_domain::key::Uid;
use machinist_provider::node_groups::{Group, GroupRef};
use serde::Serialize;

use super::super::arguments::StrategyName;
use super::bench::{BY_HAND, Bench};
use super::drive::rest;
use super::progress::Progress;

/// What will happen to a group.
#[derive(Debug)]
pub(in super::super) struct Prospect {
    pub(in super::super) recycle: Recycle,
    /// There if it is taken up again.
    resumed: Option<Resumed>,
    /// What people should know about the group.
    remarks: Vec<String>,
}

/// A recycle that somebody has begun.
#[derive(Debug, Clone)]
struct Resumed {
    /// Who, and when.
    by: String,
    /// The text on the group.
    text: String,
}

/// Why a group is not recycled.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum Objection {
    /// Nobody can say what it is like.
    #[error("{group} cannot be looked at: {why}")]
    Unseen { group: GroupRef, why: String },
    /// It is known what it is like, and that speaks against it.
    #[error("{0}")]
    Refused(String),
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
) -> Result<Prospect, Objection> {
    let found = look(bench, group).await?;
    let now = bench.clock.now();
    let nodes = bench.recycling.nodes_of(found.members.iter().map(|member| &member.id));
    let remarks = remarks(&found);
    let mark = found.mark.as_deref().and_then(|text| Some((Mark::read(text)?, text)));
    if let Some((mark, text)) = mark {
        if !mark.owner.starts_with(BY_HAND) {
            let why = format!("{group} is being recycled already, by {}", mark.owner);
            return Err(Objection::Refused(why));
        }
        let mut recycle = mark.resume(&group.region, &group.name.0, 0, now);
        for instance in &mut recycle.instances {
            let node = nodes.get(&instance.id.as_str().into());
            instance.node = node.map(|node| node.meta.key.name.to_string());
        }
        let by = format!("{} at {}", mark.owner, mark.started);
        let resumed = Some(Resumed { by, text: text.to_owned() });
        return Ok(Prospect { recycle, resumed, remarks });
    }
    let request = Request {
        group: group.clone(),
        asked_by: Uid(format!("hand{:08x}", fastrand::u32(..)).into()),
        strategy: strategy.into(),
        events: 0,
    };
    let own = bench.recycling.own_node();
    let recycle = begin(&request, &found, &nodes, own, |_| true, now).map_err(|refusal| {
        Objection::Refused(match refusal {
            Refusal::Empty => format!("{group}: {refusal}; there is nothing to recycle"),
            _ => format!("{group} cannot be recycled: {refusal}"),
        })
    })?;
    Ok(Prospect { recycle, resumed: None, remarks })
}

async fn look(bench: &Bench, group: &GroupRef) -> Result<Box<Group>, Objection> {
    match bench.recycling.look(group).await {
        Sight::There(found) => Ok(found),
        Sight::Gone => {
            let GroupRef { region, name } = group;
            Err(Objection::Refused(format!("there is no Auto Scaling group {name} in {region}")))
        }
        Sight::Unknown(failure) => {
            Err(Objection::Unseen { group: group.clone(), why: failure.message })
        }
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
    /// The recycle, whose turn has come, if the group is still what was shown. Where nobody can say, it is asked until somebody can, or until Ctrl-C.
    pub(super) async fn in_turn(
        self,
        bench: &Bench,
        progress: &mut Progress,
    ) -> Result<Recycle, Objection> {
        let group = group_of(&self.recycle);
        while !bench.hand.stop.is_cancelled() {
            match look(bench, &group).await {
                Err(unseen @ Objection::Unseen { .. }) => {
                    progress.trouble(&unseen.to_string());
                    rest(bench, bench.settings.poll).await;
                }
                Err(refused) => return Err(refused),
                Ok(found) => match self.overtaken(&found) {
                    None => break,
                    Some(why) => {
                        let why =
                            format!("{group} is left alone, because since it was shown {why}");
                        return Err(Objection::Refused(why));
                    }
                },
            }
        }
        Ok(self.beginning(bench.clock.now()))
    }

    /// What somebody else has done to the group since it was shown, if that leaves nothing to do.
    fn overtaken(&self, found: &Group) -> Option<&'static str> {
        match &self.resumed {
            Some(_) if found.mark.is_none() => Some("somebody else has finished its recycle"),
            Some(resumed) if found.mark.as_ref() != Some(&resumed.text) => {
                Some("somebody else has changed the plan in its tags")
            }
            Some(_) => None,
            None => {
                let is_there = |id: &str| found.members.iter().any(|member| &*member.id.0 == id);
                let left = self.recycle.instances.iter().any(|instance| is_there(&instance.id));
                (!left).then_some("every one of its instances has gone")
            }
        }
    }

    /// Its times begin now, however long it stood behind others.
    fn beginning(self, now: Timestamp) -> Recycle {
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
        if let Some(Resumed { by, .. }) = resumed {
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
    use std::collections::BTreeSet;

    use machinist_provider::node_groups::{Lifecycle, Member, Sizes};

    use super::*;

    fn prospect(resumed: Option<&str>) -> Prospect {
        let recycle: Recycle = serde_json::from_value(serde_json::json!({
            "id": "hand-1", "group": "b", "region": "eu-west-3", "strategy": "Replace",
            "step": "Planned", "original": {"min": 1, "max": 4, "desired": 3}, "events": 0,
            "instances": [{"id": "i-1", "state": "Waiting"}, {"id": "i-2", "state": "Waiting"}],
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:00:00Z",
        }))
        .unwrap();
        let resumed = resumed
            .map(|text| Resumed { by: "by-hand/a@b at noon".to_owned(), text: text.to_owned() });
        Prospect { recycle, resumed, remarks: Vec::new() }
    }

    fn group(mark: Option<&str>, members: &[&str]) -> Group {
        let member = |id: &&str| Member {
            id: (*id).into(),
            zone: "z".into(),
            lifecycle: Lifecycle::InService,
            healthy: true,
            protected_from_scale_in: false,
            weight: 1,
        };
        Group {
            name: "b".into(),
            arn: "arn".into(),
            sizes: Sizes { min: 1, max: 4, desired: 3 },
            members: members.iter().map(member).collect(),
            suspended: BTreeSet::new(),
            warm_pool: None,
            hooks: Vec::new(),
            mark: mark.map(str::to_owned),
            managed_by_eks: false,
            refresh: None,
            deleting: false,
        }
    }

    #[test]
    fn what_somebody_else_has_finished_or_changed_meanwhile_is_not_begun_again() {
        let resumed = prospect(Some("v1 one"));
        // Somebody else may be at it: both do the same.
        assert_eq!(resumed.overtaken(&group(Some("v1 one"), &["i-2", "i-3"])), None);
        assert!(resumed.overtaken(&group(None, &["i-1", "i-2"])).is_some());
        assert!(resumed.overtaken(&group(Some("v1 two"), &["i-1", "i-2"])).is_some());
        let new = prospect(None);
        assert_eq!(new.overtaken(&group(None, &["i-2", "i-3"])), None);
        assert!(new.overtaken(&group(None, &["i-3", "i-4"])).is_some());
    }

    #[test]
    fn times_begin_when_its_turn_comes_and_what_was_begun_before_began_then() {
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        for (resumed, began_before) in [(None, false), (Some("v1"), true)] {
            let prospect = prospect(resumed);
            let shown = prospect.recycle.started;
            let begun = prospect.beginning(now);
            let started = if began_before { shown } else { now };
            assert_eq!((begun.started, begun.step_since), (started, now));
        }
    }
}
