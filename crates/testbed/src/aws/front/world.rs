//! What every part of the front shares.

use std::collections::HashMap;

use anyhow::Result;
use parking_lot::Mutex;

use super::answer::Answer;
use super::behaviour::Behaviour;
use super::clock::Clock;
use super::instances::Instances;
use super::query::Query;
use super::upstream::Upstream;

#[derive(Debug)]
pub(super) struct World {
    pub(super) clock: Clock,
    pub(super) instances: Instances,
    /// Held while the members of groups are compared before and after a call.
    pub(super) membership: tokio::sync::Mutex<()>,
    upstream: Upstream,
    behaviour: Mutex<Behaviour>,
    accounts: Mutex<HashMap<String, String>>,
}

impl World {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            clock: Clock::default(),
            instances: Instances::default(),
            membership: tokio::sync::Mutex::default(),
            upstream,
            behaviour: Mutex::default(),
            accounts: Mutex::default(),
        }
    }

    pub(super) fn behaviour(&self) -> Behaviour {
        self.behaviour.lock().clone()
    }

    pub(super) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock() = behaviour;
    }

    pub(super) fn reset(&self) {
        self.behave(Behaviour::default());
        self.instances.clear();
        self.accounts.lock().clear();
    }

    pub(super) async fn forward(&self, query: &Query) -> Result<Answer> {
        self.upstream.forward(query).await
    }

    /// Tokens belong to it and not to the access key: a restarted client comes with new temporary keys.
    pub(super) async fn account(&self, query: &Query) -> Result<String> {
        if let Some(known) = self.accounts.lock().get(&query.access_key_id) {
            return Ok(known.clone());
        }
        let question = query.ask("sts", "GetCallerIdentity", &[]);
        let answer = self.forward(&question).await?.document()?;
        let account = answer.text_at(&["GetCallerIdentityResult", "Account"]);
        let mut accounts = self.accounts.lock();
        accounts.insert(query.access_key_id.clone(), account.clone());
        Ok(account)
    }

    /// None when there is no such subnet, which moto reports itself.
    pub(super) async fn zone_of(&self, query: &Query, subnet: &str) -> Result<Option<String>> {
        let question = query.ask("ec2", "DescribeSubnets", &[("SubnetId.1", subnet)]);
        let answer = self.forward(&question).await?;
        let path = ["subnetSet", "item", "availabilityZone"];
        Ok(answer.document().ok().map(|answer| answer.text_at(&path)))
    }
}
