//! moto launches and terminates the members of a group while it answers. Around every call that can change a group the
//! front therefore compares the members before and after, and gives the new ones a birth that lies ahead and the old
//! ones a slow end. A group forgets members that are terminating at once, as in moto; only EC2 still shows them.

use std::collections::BTreeSet;

use anyhow::Result;
use http::StatusCode;

use super::answer::Answer;
use super::behaviour::Behaviour;
use super::clock::later;
use super::instances::PENDING;
use super::query::Query;
use super::world::World;
use super::xml::Element;

const CHANGES: [(&str, &str); 5] = [
    ("autoscaling", "CreateAutoScalingGroup"),
    ("autoscaling", "SetDesiredCapacity"),
    ("autoscaling", "TerminateInstanceInAutoScalingGroup"),
    ("autoscaling", "UpdateAutoScalingGroup"),
    ("ec2", "TerminateInstances"),
];

pub(super) async fn follow(world: &World, query: &Query) -> Result<Answer> {
    let behaviour = world.behaviour();
    if let Some(refusal) = refuse(world, query).await? {
        return Ok(refusal);
    }
    let changes = CHANGES.contains(&(query.service.as_str(), query.action.as_str()));
    if !changes || !is_slow(&behaviour) {
        return world.forward(query).await;
    }
    let _alone = world.membership.lock().await;
    let before = members(world, query, None).await?;
    let answer = world.forward(query).await?;
    let after = members(world, query, None).await?;

    let now = world.clock.now();
    let new = after.difference(&before).cloned();
    let birth = later(now, behaviour.launch_after);
    world.instances.launched(new, birth, &behaviour);
    let old = before.difference(&after).cloned();
    world.instances.ended(old, now, &behaviour);
    Ok(answer)
}

/// moto fails without a message for a member or a group that does not exist.
async fn refuse(world: &World, query: &Query) -> Result<Option<Answer>> {
    let message = match (query.service.as_str(), query.action.as_str()) {
        ("autoscaling", "TerminateInstanceInAutoScalingGroup") => {
            let id = query.get("InstanceId").unwrap_or_default();
            let exists = world.instances.exists(id, world.clock.now());
            if exists && members(world, query, None).await?.contains(id) {
                return Ok(None);
            }
            format!("Instance Id not found - No managed instance found for instance ID: {id}")
        }
        ("autoscaling", "CreateOrUpdateTags" | "DeleteTags") => {
            let group = query.get("Tags.member.1.ResourceId").unwrap_or_default();
            let parameters = [("AutoScalingGroupNames.member.1", group)];
            let question = query.ask("autoscaling", "DescribeAutoScalingGroups", &parameters);
            let answer = world.forward(&question).await?.document()?;
            if answer.texts("AutoScalingGroupName").iter().any(|name| name == group) {
                return Ok(None);
            }
            format!("AutoScalingGroup name not found - null: {group}")
        }
        _ => return Ok(None),
    };
    Ok(Some(Answer::error(query, StatusCode::BAD_REQUEST, "ValidationError", &message)))
}

fn is_slow(behaviour: &Behaviour) -> bool {
    let delays = [
        behaviour.launch_after,
        behaviour.hidden_for,
        behaviour.pending_for,
        behaviour.shutting_down_for,
    ];
    delays.iter().any(|delay| !delay.is_zero())
}

pub(super) async fn members(
    world: &World,
    query: &Query,
    group: Option<&str>,
) -> Result<BTreeSet<String>> {
    let mut members = BTreeSet::new();
    let mut token = String::new();
    loop {
        let mut parameters = vec![("MaxRecords", "100")];
        parameters.extend(group.map(|group| ("AutoScalingGroupNames.member.1", group)));
        if !token.is_empty() {
            parameters.push(("NextToken", &token));
        }
        let question = query.ask("autoscaling", "DescribeAutoScalingGroups", &parameters);
        let answer = world.forward(&question).await?.document()?;
        members.extend(answer.texts("InstanceId"));
        token = answer.text_at(&["DescribeAutoScalingGroupsResult", "NextToken"]);
        if token.is_empty() {
            return Ok(members);
        }
    }
}

pub(super) async fn describe(world: &World, query: &Query) -> Result<Answer> {
    let answer = world.forward(query).await?;
    let now = world.clock.now();
    let mut show = |member: &mut Element| {
        let id = member.text_at(&["InstanceId"]);
        let is_pending = world.instances.state(&id, now) == Some(PENDING);
        if let (true, Some(state)) = (is_pending, member.get_mut("LifecycleState")) {
            state.set_text("Pending");
        }
        world.instances.exists(&id, now)
    };
    Ok(answer.edit(|root| {
        for list in ["Instances", "AutoScalingInstances"] {
            root.each_mut(list, &mut |list| list.children.retain_mut(&mut show));
        }
    }))
}
