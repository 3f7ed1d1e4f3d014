//! What will happen to a group: for the confirmation prompt, and for `--dry-run`.
//!
//! The group is described again before its recycle begins ([`Preview::start`]). Where another command has finished the
//! recycle meanwhile, nothing is begun: without its mark, every instance would be replaced a second time.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::spec::Strategy;
use machinist_controllers::recycler::recycling::{Mark, Request, begin, group_of};
use machinist_domain::key::Uid;
use machinist_provider::node_groups::{Group, GroupRef, Sizes};
use serde::Serialize;

use super::super::arguments::StrategyName;
use super::super::messages;
use super::context::{BY_HAND, RecycleContext};
use super::drive::rest;
use super::progress::Progress;

#[derive(Debug)]
pub(in super::super) struct Preview {
    pub(in super::super) recycle: Recycle,
    resumed: Option<Resumed>,
    remarks: Vec<String>,
}

#[derive(Debug, Clone)]
struct Resumed {
    /// Its owner and start.
    by: String,
    text: String,
}

#[derive(Debug)]
pub(in super::super) enum PreviewError {
    Unreachable { group: GroupRef, why: String },
    NotFound(GroupRef),
    Busy { group: GroupRef, owner: String },
    Refused { group: GroupRef, why: String },
    Changed { group: GroupRef, change: &'static str },
}

impl std::error::Error for PreviewError {}

/// The preview in JSON and YAML.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    group: &'a str,
    region: &'a str,
    strategy: Strategy,
    resumed: bool,
    #[serde(flatten)]
    original: Sizes,
    instances: Vec<ShownInstance<'a>>,
    remarks: &'a [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownInstance<'a> {
    instance_id: &'a str,
    node: Option<&'a str>,
}

pub(in super::super) async fn of(
    context: &RecycleContext,
    group: &GroupRef,
    strategy: StrategyName,
) -> Result<Preview, PreviewError> {
    let found = describe(context, group).await?;
    let now = context.clock.now();
    let nodes = context.recycling.nodes_of(found.members.iter().map(|member| &member.id));
    let remarks = remarks(&found);
    let mark = found.mark.as_deref().and_then(|text| Some((Mark::read(text)?, text)));
    if let Some((mark, text)) = mark {
        if !mark.owner.starts_with(BY_HAND) {
            return Err(PreviewError::Busy { group: group.clone(), owner: mark.owner });
        }
        let mut recycle = mark.resume(&group.region, &group.name.0, 0, now);
        for instance in &mut recycle.instances {
            let node = nodes.get(&instance.id.as_str().into());
            instance.node = node.map(|node| node.meta.key.name.to_string());
        }
        let by = format!("{} at {}", mark.owner, mark.started);
        let resumed = Some(Resumed { by, text: text.to_owned() });
        return Ok(Preview { recycle, resumed, remarks });
    }
    let request = Request {
        group: group.clone(),
        requested_by: Uid(format!("hand{:08x}", fastrand::u32(..)).into()),
        strategy: strategy.into(),
        events: 0,
    };
    let own = context.recycling.own_node.as_deref();
    let recycle = begin(&request, &found, &nodes, own, |_| true, now).map_err(|refusal| {
        PreviewError::Refused { group: group.clone(), why: refusal.to_string() }
    })?;
    Ok(Preview { recycle, resumed: None, remarks })
}

async fn describe(context: &RecycleContext, group: &GroupRef) -> Result<Box<Group>, PreviewError> {
    match context.recycling.group_cache.describe_live(group).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(PreviewError::NotFound(group.clone())),
        Err(failure) => {
            Err(PreviewError::Unreachable { group: group.clone(), why: failure.message })
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

/// Notes about the group that do not prevent a recycle.
fn remarks(group: &Group) -> Vec<String> {
    let mut remarks = Vec::new();
    if group.managed_by_eks {
        remarks.push(messages::MANAGED_BY_EKS.to_owned());
    }
    let protected = group.members.iter().filter(|member| member.protected_from_scale_in).count();
    if protected > 0 {
        remarks.push(messages::protected(protected));
    }
    remarks.extend(group.hooks.iter().map(messages::hook));
    if let Some(pool) = &group.warm_pool {
        remarks.push(messages::warm_pool(pool.size));
    }
    remarks
}

impl Preview {
    /// The recycle, if the group has not changed since. A group that cannot be described is retried until Ctrl-C.
    pub(super) async fn start(
        self,
        context: &RecycleContext,
        progress: &mut Progress,
    ) -> Result<Recycle, PreviewError> {
        let group = group_of(&self.recycle);
        while !context.stop.is_cancelled() {
            match describe(context, &group).await {
                Err(error @ PreviewError::Unreachable { .. }) => {
                    progress.trouble(&error.to_string());
                    rest(context, context.settings.poll).await;
                }
                Err(error) => return Err(error),
                Ok(found) => match self.change_of(&found) {
                    None => break,
                    Some(change) => return Err(PreviewError::Changed { group, change }),
                },
            }
        }
        Ok(self.started(context.clock.now()))
    }

    /// A change of the group since the preview that leaves nothing to do.
    fn change_of(&self, found: &Group) -> Option<&'static str> {
        match &self.resumed {
            Some(_) if found.mark.is_none() => Some(messages::FINISHED_ELSEWHERE),
            Some(resumed) if found.mark.as_ref() != Some(&resumed.text) => {
                Some(messages::PLAN_CHANGED)
            }
            Some(_) => None,
            None => {
                let is_there = |id: &str| found.members.iter().any(|member| &*member.id.0 == id);
                let left = self.recycle.instances.iter().any(|instance| is_there(&instance.id));
                (!left).then_some(messages::ALL_REPLACED)
            }
        }
    }

    /// The recycle with times that begin now.
    fn started(self, now: Timestamp) -> Recycle {
        // A resumed recycle keeps its start.
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
            original: recycle.original,
            instances: instances.collect(),
            remarks: &self.remarks,
        }
    }
}

pub(super) fn as_text(previews: &[Preview]) -> String {
    let mut text = String::new();
    for Preview { recycle, resumed, remarks } in previews {
        let Recycle { group, region, original, .. } = recycle;
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        line(format!("{group} ({region}): {}", messages::strategy(recycle.strategy)));
        if let Some(Resumed { by, .. }) = resumed {
            line(messages::resumed_by(by));
        }
        let Sizes { min, max, desired } = *original;
        line(messages::final_size(min, max, desired));
        for instance in &recycle.instances {
            let node = instance.node.as_deref().unwrap_or(messages::NO_NODE);
            line(format!("  {}  {node}", instance.id));
        }
        for remark in remarks {
            line(messages::remark(remark));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use machinist_provider::node_groups::{Lifecycle, Member};

    use super::*;

    fn preview(resumed: Option<&str>) -> Preview {
        let recycle: Recycle = serde_json::from_value(serde_json::json!({
            "id": "owner-1", "group": "b", "region": "eu-west-3", "strategy": "Replace",
            "step": "Planned", "original": {"min": 1, "max": 4, "desired": 3}, "events": 0,
            "instances": [{"id": "i-1", "state": "Waiting"}, {"id": "i-2", "state": "Waiting"}],
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:00:00Z",
        }))
        .unwrap();
        let resumed = resumed
            .map(|text| Resumed { by: "by-hand/a@b at noon".to_owned(), text: text.to_owned() });
        Preview { recycle, resumed, remarks: Vec::new() }
    }

    fn group(mark: Option<&str>, members: &[&str]) -> Group {
        let member = |id: &&str| Member {
            id: (*id).into(),
            lifecycle: Lifecycle::InService,
            healthy: true,
            protected_from_scale_in: false,
            weight: 1,
        };
        Group {
            name: "b".into(),
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
    fn a_recycle_that_another_command_finished_or_changed_is_not_started() {
        let resumed = preview(Some("v1 one"));
        // Another command may run the same recycle: both do the same.
        assert_eq!(resumed.change_of(&group(Some("v1 one"), &["i-2", "i-3"])), None);
        assert!(resumed.change_of(&group(None, &["i-1", "i-2"])).is_some());
        assert!(resumed.change_of(&group(Some("v1 two"), &["i-1", "i-2"])).is_some());
        let new = preview(None);
        assert_eq!(new.change_of(&group(None, &["i-2", "i-3"])), None);
        assert!(new.change_of(&group(None, &["i-3", "i-4"])).is_some());
    }

    #[test]
    fn times_begin_at_the_start_and_a_resumed_recycle_keeps_its_start() {
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        for (resumed, began_before) in [(None, false), (Some("v1"), true)] {
            let preview = preview(resumed);
            let shown = preview.recycle.started;
            let begun = preview.started(now);
            let started = if began_before { shown } else { now };
            assert_eq!((begun.started, begun.step_since), (started, now));
        }
    }
}
