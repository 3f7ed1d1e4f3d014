//! Instance refreshes, which moto does not have. There is no task in the background: before any call is served, the
//! replacements that are due by the clock are carried out, so a test that moves the clock sees them all.

use anyhow::Result;
use http::StatusCode;
use jiff::Timestamp;
use tokio::sync::Mutex;

use super::answer::{Answer, random_id};
use super::groups;
use super::query::Query;
use super::world::World;
use super::xml::Element;

#[derive(Debug)]
struct Refresh {
    id: String,
    account: String,
    group: String,
    started: Timestamp,
    /// The members at the start; the first `replaced` of them are gone.
    members: Vec<String>,
    replaced: usize,
    cancelled: bool,
    /// The call that started it: its credentials carry out the rest.
    origin: Query,
}

#[derive(Debug, Default)]
pub(super) struct Refreshes {
    list: Mutex<Vec<Refresh>>,
}

impl Refreshes {
    pub(super) async fn clear(&self) {
        self.list.lock().await.clear();
    }

    pub(super) async fn advance(&self, world: &World) -> Result<()> {
        let step = world.behaviour().refresh_step;
        let now = world.clock.now();
        let mut list = self.list.lock().await;
        for refresh in list.iter_mut().filter(|refresh| !refresh.cancelled) {
            let elapsed = now.duration_since(refresh.started).unsigned_abs();
            let due = elapsed.as_nanos().checked_div(step.as_nanos());
            let due = due.and_then(|due| usize::try_from(due).ok());
            let due = due.map_or(refresh.members.len(), |due| due.min(refresh.members.len()));
            while refresh.replaced < due {
                refresh.replace_next(world).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn start(&self, world: &World, query: &Query) -> Result<Answer> {
        let group = query.get("AutoScalingGroupName").unwrap_or_default();
        if !exists(world, query, group).await? {
            let message = format!("AutoScalingGroup name not found - {group}");
            return Ok(refuse(query, "ValidationError", &message));
        }
        let refresh = Refresh {
            id: random_id(),
            account: world.account(query).await?,
            group: group.to_owned(),
            started: world.clock.now(),
            members: groups::members(world, query, Some(group)).await?.into_iter().collect(),
            replaced: 0,
            cancelled: false,
            origin: query.clone(),
        };
        let mut list = self.list.lock().await;
        let same = |other: &Refresh| other.is_of(query, &refresh.account, group);
        if list.iter().any(|other| same(other) && !other.is_finished()) {
            let message = "An instance refresh of this group is already in progress.";
            return Ok(refuse(query, "InstanceRefreshInProgress", message));
        }
        let result = Element::new("StartInstanceRefreshResult");
        let result = result.text_child("InstanceRefreshId", &refresh.id);
        list.push(refresh);
        Ok(Answer::auto_scaling(&query.action, Some(result)))
    }

    pub(super) async fn cancel(&self, world: &World, query: &Query) -> Result<Answer> {
        let account = world.account(query).await?;
        let group = query.get("AutoScalingGroupName").unwrap_or_default();
        let mut list = self.list.lock().await;
        let running =
            |other: &&mut Refresh| other.is_of(query, &account, group) && !other.is_finished();
        let Some(refresh) = list.iter_mut().find(running) else {
            let message =
                "No in progress or pending Instance Refresh found for Auto Scaling group.";
            return Ok(refuse(query, "ActiveInstanceRefreshNotFound", message));
        };
        refresh.cancelled = true;
        let result = Element::new("CancelInstanceRefreshResult");
        let result = result.text_child("InstanceRefreshId", &refresh.id);
        Ok(Answer::auto_scaling(&query.action, Some(result)))
    }

    pub(super) async fn describe(&self, world: &World, query: &Query) -> Result<Answer> {
        let account = world.account(query).await?;
        let group = query.get("AutoScalingGroupName").unwrap_or_default();
        let wanted = query.list("InstanceRefreshIds.member");
        let mut refreshes = Element::new("InstanceRefreshes");
        for refresh in self.list.lock().await.iter().rev() {
            let is_wanted = wanted.is_empty() || wanted.contains(&refresh.id.as_str());
            if is_wanted && refresh.is_of(query, &account, group) {
                refreshes.children.push(refresh.to_element());
            }
        }
        let result = Element::new("DescribeInstanceRefreshesResult").child(refreshes);
        Ok(Answer::auto_scaling(&query.action, Some(result)))
    }
}

impl Refresh {
    fn is_of(&self, query: &Query, account: &str, group: &str) -> bool {
        self.account == account && self.origin.region == query.region && self.group == group
    }

    fn is_finished(&self) -> bool {
        self.cancelled || self.replaced == self.members.len()
    }

    /// A member that was terminated otherwise in the meantime counts as replaced.
    async fn replace_next(&mut self, world: &World) -> Result<()> {
        let Some(member) = self.members.get(self.replaced) else {
            return Ok(());
        };
        let parameters =
            [("InstanceId", member.as_str()), ("ShouldDecrementDesiredCapacity", "false")];
        let action = "TerminateInstanceInAutoScalingGroup";
        let question = self.origin.ask("autoscaling", action, &parameters);
        groups::follow(world, &question).await?;
        self.replaced += 1;
        Ok(())
    }

    fn to_element(&self) -> Element {
        let all = self.members.len();
        let left = all - self.replaced;
        let percentage = (self.replaced * 100).checked_div(all).unwrap_or(100);
        let status = match (self.is_finished(), self.replaced) {
            (true, _) if self.cancelled => "Cancelled",
            (true, _) => "Successful",
            (false, 0) => "Pending",
            (false, _) => "InProgress",
        };
        Element::new("member")
            .text_child("InstanceRefreshId", &self.id)
            .text_child("AutoScalingGroupName", &self.group)
            .text_child("Status", status)
            .text_child("StartTime", &self.started.to_string())
            .text_child("PercentageComplete", &percentage.to_string())
            .text_child("InstancesToUpdate", &left.to_string())
    }
}

/// Only acknowledged: the log shows that it came.
pub(super) fn complete_lifecycle_action(query: &Query) -> Answer {
    let result = Element::new("CompleteLifecycleActionResult");
    Answer::auto_scaling(&query.action, Some(result))
}

async fn exists(world: &World, query: &Query, group: &str) -> Result<bool> {
    let parameters = [("AutoScalingGroupNames.member.1", group)];
    let question = query.ask("autoscaling", "DescribeAutoScalingGroups", &parameters);
    let answer = world.forward(&question).await?.document()?;
    Ok(answer.texts("AutoScalingGroupName").iter().any(|name| name == group))
}

fn refuse(query: &Query, code: &str, message: &str) -> Answer {
    Answer::error(query, StatusCode::BAD_REQUEST, code, message)
}
