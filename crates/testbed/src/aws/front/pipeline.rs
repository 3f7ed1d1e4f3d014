//! Order: rules that stop the call, refreshes that are due, instances that must not be seen, the actions that the
//! front knows, moto, rules that lose the answer, the log.

use anyhow::Result;
use bytes::Bytes;
use http::{Request, StatusCode};

use super::answer::Answer;
use super::log::Log;
use super::query::Query;
use super::refresh::{Refreshes, complete_lifecycle_action};
use super::rules::{Effect, Rules};
use super::tokens::Tokens;
use super::upstream::Upstream;
use super::world::World;
use super::{describe, groups};

#[derive(Debug)]
pub(super) enum Outcome {
    Answer(Answer),
    Reset,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) world: World,
    pub(super) rules: Rules,
    pub(super) log: Log,
    tokens: Tokens,
    refreshes: Refreshes,
}

impl Pipeline {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            world: World::new(upstream),
            rules: Rules::default(),
            log: Log::default(),
            tokens: Tokens::default(),
            refreshes: Refreshes::default(),
        }
    }

    pub(super) async fn reset(&self) {
        self.world.reset();
        self.rules.clear();
        self.log.clear();
        self.tokens.clear();
        self.refreshes.clear().await;
    }

    pub(super) async fn handle(&self, request: Request<Bytes>) -> Outcome {
        let at = self.world.clock.now();
        let query = Query::read(request);
        let outcome = self.outcome(&query).await;
        let status = match &outcome {
            Outcome::Answer(answer) => Some(answer.status),
            Outcome::Reset => None,
        };
        self.log.add(at, query, status);
        outcome
    }

    async fn outcome(&self, query: &Query) -> Outcome {
        let effect = self.rules.take(&query.action);
        if let Some(refusal) = effect.as_ref().and_then(|e| Answer::refusal(query, e)) {
            return Outcome::Answer(refusal);
        }
        match effect {
            Some(Effect::ResetBefore) => return Outcome::Reset,
            Some(Effect::Delay(time)) => tokio::time::sleep(time).await,
            _ => {}
        }
        let answer = self.serve(query).await.unwrap_or_else(|error| {
            let message = format!("the AWS front failed: {error:#}");
            Answer::error(query, StatusCode::BAD_GATEWAY, "FrontFailure", &message)
        });
        match effect {
            Some(Effect::ResetAfter) => Outcome::Reset,
            _ => Outcome::Answer(answer),
        }
    }

    async fn serve(&self, query: &Query) -> Result<Answer> {
        let world = &self.world;
        self.refreshes.advance(world).await?;
        if let Some(refusal) = self.refuse_unseen(query) {
            return Ok(refusal);
        }
        match (query.service.as_str(), query.action.as_str()) {
            ("ec2", "RunInstances") => self.tokens.once(world, query, self.run(query)).await,
            ("ec2", "AllocateHosts") => {
                let act = world.forward(query);
                self.tokens.once(world, query, act).await
            }
            ("ec2", "TerminateInstances") => self.terminate(query).await,
            ("ec2", "DescribeInstances" | "DescribeInstanceStatus") => {
                describe::instances(world, query).await
            }
            ("ec2", "DescribeAvailabilityZones") => self.zones(query).await,
            ("autoscaling", "DescribeAutoScalingGroups" | "DescribeAutoScalingInstances") => {
                groups::describe(world, query).await
            }
            ("autoscaling", "StartInstanceRefresh") => self.refreshes.start(world, query).await,
            ("autoscaling", "CancelInstanceRefresh") => self.refreshes.cancel(world, query).await,
            ("autoscaling", "DescribeInstanceRefreshes") => {
                self.refreshes.describe(world, query).await
            }
            ("autoscaling", "CompleteLifecycleAction") => Ok(complete_lifecycle_action(query)),
            _ => groups::follow(world, query).await,
        }
    }

    /// EC2 fails a whole call that names an instance which it does not know (yet, or any more).
    fn refuse_unseen(&self, query: &Query) -> Option<Answer> {
        if query.service != "ec2" {
            return None;
        }
        let now = self.world.clock.now();
        let mut named = query.list("InstanceId");
        named.extend(query.list("ResourceId"));
        let unseen = named.into_iter().find(|id| !self.world.instances.is_visible(id, now))?;
        let message = format!("The instance ID '{unseen}' does not exist");
        let code = "InvalidInstanceID.NotFound";
        Some(Answer::error(query, StatusCode::BAD_REQUEST, code, &message))
    }

    async fn run(&self, query: &Query) -> Result<Answer> {
        let answer = self.world.forward(query).await?;
        if let Ok(document) = answer.document() {
            let behaviour = self.world.behaviour();
            let ids = document.texts("instanceId");
            let instances = &self.world.instances;
            instances.launched(ids, self.world.clock.now(), &behaviour);
        }
        Ok(answer)
    }

    async fn zones(&self, query: &Query) -> Result<Answer> {
        let answer = self.world.forward(query).await?;
        Ok(match self.world.behaviour().zone_type {
            None => answer,
            Some(kind) => {
                answer.edit(|root| root.each_mut("zoneType", &mut |zone| zone.set_text(kind)))
            }
        })
    }

    async fn terminate(&self, query: &Query) -> Result<Answer> {
        let answer = groups::follow(&self.world, query).await?;
        if answer.status.is_success() {
            let behaviour = self.world.behaviour();
            let ids = query.list("InstanceId").into_iter().map(str::to_owned);
            let instances = &self.world.instances;
            instances.ended(ids, self.world.clock.now(), &behaviour);
        }
        Ok(answer)
    }
}
