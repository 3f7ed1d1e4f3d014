//! A token belongs to an account, a region and, when the call names a zone or subnet, to that zone. Of calls with the
//! same token that arrive together, one is carried out and the others wait for its answer; a call that failed, as a
//! dry run does, leaves no trace.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use http::StatusCode;
use parking_lot::Mutex;

use super::answer::Answer;
use super::clock::later;
use super::query::{Parameters, Query};
use super::world::World;

const TOKEN: &str = "ClientToken";

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    account: String,
    region: String,
    zone: Option<String>,
    action: String,
    token: String,
}

impl Key {
    async fn of(world: &World, query: &Query, token: &str) -> Result<Self> {
        Ok(Self {
            account: world.account(query).await?,
            region: query.region.clone(),
            zone: zone(world, query).await?,
            action: query.action.clone(),
            token: token.to_owned(),
        })
    }
}

#[derive(Debug)]
struct Deed {
    parameters: Parameters,
    answer: Answer,
    /// Empty for a host: its token has no end.
    instances: Vec<String>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Deed>>>;

#[derive(Debug, Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<Key, Slot>>,
}

impl Tokens {
    /// Awaits `act` unless the token shows that it has been done.
    pub(super) async fn once(
        &self,
        world: &World,
        query: &Query,
        act: impl Future<Output = Result<Answer>>,
    ) -> Result<Answer> {
        let Some(token) = query.get(TOKEN).filter(|token| !token.is_empty()) else {
            return act.await;
        };
        let key = Key::of(world, query, token).await?;
        let slot = Arc::clone(self.slots.lock().entry(key).or_default());
        let mut slot = slot.lock().await;
        if let Some(deed) = slot.as_ref().filter(|deed| deed.is_remembered(world)) {
            return deed.repeat(world, query).await;
        }
        let answer = act.await?;
        if let Ok(document) = answer.document() {
            *slot = Some(Deed {
                parameters: query.parameters.clone(),
                answer: answer.clone(),
                instances: document.texts("instanceId"),
            });
        }
        Ok(answer)
    }

    pub(super) fn clear(&self) {
        self.slots.lock().clear();
    }
}

impl Deed {
    fn is_remembered(&self, world: &World) -> bool {
        if self.instances.is_empty() {
            return true;
        }
        let ended = world.instances.all_ended_at(&self.instances);
        let memory = world.behaviour().tokens_for;
        ended.is_none_or(|ended| world.clock.now() < later(ended, memory))
    }

    async fn repeat(&self, world: &World, query: &Query) -> Result<Answer> {
        let refuse = |code, message| Answer::error(query, StatusCode::BAD_REQUEST, code, message);
        if self.parameters != query.parameters {
            return Ok(refuse(
                "IdempotentParameterMismatch",
                "This client token was used before with other parameters.",
            ));
        }
        if !self.instances.is_empty() && !self.any_is_alive(world, query).await? {
            return Ok(refuse(
                "IdempotentInstanceTerminated",
                "The instance that was launched with this client token has been terminated.",
            ));
        }
        Ok(self.answer.clone())
    }

    /// Asks moto: an instance may have been terminated past the front.
    async fn any_is_alive(&self, world: &World, query: &Query) -> Result<bool> {
        let names: Vec<_> =
            (1..=self.instances.len()).map(|n| format!("Filter.1.Value.{n}")).collect();
        let mut parameters = vec![("Filter.1.Name", "instance-id")];
        let values = self.instances.iter().map(String::as_str);
        parameters.extend(names.iter().map(String::as_str).zip(values));
        let question = query.ask("ec2", "DescribeInstances", &parameters);
        let document = world.forward(&question).await?.document()?;
        let states = document.all("instanceState");
        Ok(states.iter().any(|state| state.text_at(&["name"]) != "terminated"))
    }
}

async fn zone(world: &World, query: &Query) -> Result<Option<String>> {
    let zone = ["Placement.AvailabilityZone", "AvailabilityZone"];
    if let Some(zone) = zone.iter().find_map(|name| query.get(name)) {
        return Ok(Some(zone.to_owned()));
    }
    let subnet = ["SubnetId", "NetworkInterface.1.SubnetId"];
    match subnet.iter().find_map(|name| query.get(name)) {
        Some(subnet) => world.zone_of(query, subnet).await,
        None => Ok(None),
    }
}
