//! The cloud half: calls the simulated cloud over HTTP.
//!
//! Instances are found by the machine's uid or by a stored id. Resources of another machine are never changed.

mod convert;
mod http;
mod launch;

use std::collections::HashMap;
use std::time::Duration;

use ::http::Method;
use bytes::Bytes;
use machinist_api::names::TAG_MACHINE_UID;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::absence::Absences;
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, Effect, ErrorClass, Instance, MachineRef, ObservedInstance, Owned,
    ProviderStatus, Reach,
};
use machinist_provider::parts::Parts;

use self::http::{Address, Http};
use self::launch::{Launch, known_id};
use crate::messages;
use crate::wire::{self, ChangeTags, Page, State};

/// The maximum number of machines per request: their uids are in the URL.
const ASKED_TOGETHER: usize = 500;

#[derive(Debug)]
pub struct SimClient {
    endpoint: Option<String>,
    http: Http,
    parts: Parts,
    absences: Absences,
}

impl SimClient {
    /// Calls the cloud at `endpoint`, or at the endpoint of a machine's access.
    pub fn new(endpoint: Option<String>, parts: Parts) -> Self {
        Self { endpoint, http: http::client(), parts, absences: Absences::default() }
    }

    async fn address(&self, access: &CloudAccess) -> Result<Address, CloudError> {
        let endpoint =
            self.endpoint.clone().or_else(|| access.endpoint.as_deref().map(str::to_owned));
        // The Machine's spec is not wrong, so it must not fail for good.
        let endpoint =
            endpoint.ok_or_else(|| not_called(ErrorClass::Unavailable, messages::NO_ENDPOINT))?;
        let bearer = match &access.credentials {
            Credentials::Ambient => None,
            Credentials::Secret { key, .. } => {
                let secret =
                    self.parts.secrets.read(key).await.map_err(|failure| unread(&failure))?;
                let token = secret.text("token").map(str::to_owned);
                let missing = || not_called(ErrorClass::Unauthorised, messages::no_token(key));
                Some(token.ok_or_else(missing)?)
            }
        };
        Ok(Address { endpoint: endpoint.trim_end_matches('/').to_owned(), bearer })
    }

    async fn pages(&self, to: &Address, query: &str) -> Result<Vec<wire::Instance>, CloudError> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/v1/instances?{query}{next}");
            let page: Page = self.send("list", to, Method::GET, &path, Bytes::new()).await?;
            all.extend(page.items);
            match page.next {
                None => return Ok(all),
                Some(token) => next = format!("&continue={token}"),
            }
        }
    }

    /// Everything that may belong to these machines.
    async fn find(
        &self,
        to: &Address,
        machines: &[&MachineRef],
    ) -> Result<Vec<wire::Instance>, CloudError> {
        let mut found = Vec::new();
        for some in machines.chunks(ASKED_TOGETHER) {
            let uids: Vec<_> = some.iter().map(|machine| &*machine.uid.0).collect();
            let ids: Vec<_> = some.iter().filter_map(|machine| known_id(machine)).collect();
            let query = query(&[("uids", &uids.join(",")), ("ids", &ids.join(","))]);
            found.extend(self.pages(to, &query).await?);
        }
        Ok(found)
    }

    async fn describe_at(
        &self,
        access: &CloudAccess,
        machines: &[&MachineRef],
    ) -> Result<Vec<ObservedInstance>, CloudError> {
        let to = self.address(access).await?;
        let found = self.find(&to, machines).await?;
        Ok(machines.iter().map(|machine| self.observe(machine, &found)).collect())
    }

    fn observe(&self, machine: &MachineRef, found: &[wire::Instance]) -> ObservedInstance {
        let named = found.iter().find(|found| known_id(machine) == Some(found.id.as_str()));
        if let Some(instance) = named
            && let Some(owner) = instance.tags.get(TAG_MACHINE_UID)
            && **owner != *machine.uid.0
        {
            return ObservedInstance::Unknown(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: messages::foreign_instance(&instance.id, owner),
            });
        }
        if let Some(instance) = convert::current(found, machine) {
            self.absences.forget(&machine.uid);
            return ObservedInstance::Present(convert::instance(instance, Some(machine)).into());
        }
        match self.may_still_appear(machine) {
            None => ObservedInstance::Absent,
            Some(wait) => ObservedInstance::Unknown(Failure {
                category: Category::Unavailable,
                // Not an error: it is too early to be certain.
                retry: Retry::Again(wait),
                message: messages::not_listed_yet(messages::CLOUD),
            }),
        }
    }

    /// The remaining wait until "not found" counts; `None` if it does.
    fn may_still_appear(&self, machine: &MachineRef) -> Option<Duration> {
        if machine.status.attempt().is_none() && known_id(machine).is_none() {
            return None;
        }
        let missed = self.absences.missed(&machine.uid, (self.parts.clock)());
        self.parts.timings.consistency.checked_sub(missed).filter(|left| !left.is_zero())
    }

    /// Deletes an instance and what it leaves behind; returns what to wait for.
    async fn delete_instance(
        &self,
        to: &Address,
        mut instance: wire::Instance,
    ) -> Result<Option<String>, CloudError> {
        if instance.state != State::Terminated && instance.state != State::ShuttingDown {
            let path = format!("/v1/instances/{}", instance.id);
            instance = self.send("delete", to, Method::DELETE, &path, Bytes::new()).await?;
        }
        if instance.state != State::Terminated {
            return Ok(Some(messages::instance_state(&instance.id, instance.state.as_str())));
        }
        for volume in &instance.volumes {
            let path = format!("/v1/volumes/{}", volume.id);
            let gone = self.send("delete-volume", to, Method::DELETE, &path, Bytes::new());
            match gone.await {
                Err(error) if error.class == ErrorClass::NotFound => {}
                gone => gone.map(|_: serde_json::Value| ())?,
            }
        }
        Ok(None)
    }
}

impl Cloud for SimClient {
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        Box::pin(async { Launch::prepare(machine)?.status() })
    }

    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async move {
            let launch = Launch::of(machine)?;
            let to = self.address(&machine.access).await?;
            // The request restarts the wait for the instance to be listed.
            self.absences.forget(&machine.uid);
            let request = &launch.request;
            let body = http::json(request)?;
            let answer = self.send("create", &to, Method::POST, "/v1/instances", body).await;
            let found: wire::Instance = answer.map_err(|error| {
                let within = match error.class {
                    ErrorClass::CapacityExhausted => {
                        format!("sim/{}/{}/{}", request.region, request.zone, request.instance_type)
                    }
                    ErrorClass::Throttled => format!("sim/{}", request.region),
                    _ => return error,
                };
                let elsewhere = error.class == ErrorClass::CapacityExhausted && launch.zone_chosen;
                let effect = if elsewhere { Effect::NoneForThisAttempt } else { error.effect };
                CloudError { effect, ..error.within(within) }
            })?;
            Ok(convert::instance(&found, Some(machine)))
        })
    }

    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(async move {
            let mut observed = vec![ObservedInstance::NotAsked; machines.len()];
            let mut accesses: HashMap<&CloudAccess, Vec<usize>> = HashMap::new();
            for (place, machine) in machines.iter().enumerate() {
                accesses.entry(&machine.access).or_default().push(place);
            }
            for (access, places) in accesses {
                let asked: Vec<_> = places.iter().map(|place| &machines[*place]).collect();
                let answers = self.describe_at(access, &asked).await.unwrap_or_else(|error| {
                    vec![ObservedInstance::Unknown(error.failure()); asked.len()]
                });
                for (place, answer) in places.into_iter().zip(answers) {
                    observed[place] = answer;
                }
            }
            observed
        })
    }

    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async move {
            let to = self.address(&machine.access).await?;
            let found = self.find(&to, &[machine]).await?;
            let current = convert::current(&found, machine).filter(|found| found.is_left());
            let current = current.ok_or_else(|| {
                CloudError::new(ErrorClass::NotFound, messages::no_instance(&machine.key))
            })?;
            let seen = convert::instance(current, Some(machine));
            if seen.drift.is_none() {
                return Ok(seen);
            }
            let body = http::json(&ChangeTags { tags: launch::wanted_tags(machine) })?;
            let path = format!("/v1/instances/{}", current.id);
            let changed = self.send("tag", &to, Method::PATCH, &path, body).await?;
            Ok(convert::instance(&changed, Some(machine)))
        })
    }

    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(async move {
            let to = self.address(&machine.access).await?;
            let found = self.find(&to, &[machine]).await?;
            let mut waiting = None;
            for instance in own(&found, machine) {
                waiting = self.delete_instance(&to, instance.clone()).await?.or(waiting);
            }
            if let Some(waiting) = waiting {
                return Ok(Deletion::UnderWay(waiting));
            }
            let seen = own(&found, machine).any(|found| is_the_last(found, machine));
            if !seen && self.may_still_appear(machine).is_some() {
                return Ok(Deletion::UnderWay(messages::may_still_appear(messages::CLOUD)));
            }
            self.absences.forget(&machine.uid);
            Ok(Deletion::Gone)
        })
    }

    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(async move {
            let to = self.address(&within.access).await?;
            let found = self.pages(&to, &query(&[("cluster", &within.cluster)])).await?;
            Ok(found.iter().filter_map(|instance| owned(instance, within)).collect())
        })
    }

    fn delete_orphan<'a>(
        &'a self,
        within: &'a Reach,
        orphan: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(async move {
            let to = self.address(&within.access).await?;
            let id = &*orphan.instance.id;
            let found = self.pages(&to, &query(&[("ids", id)])).await?;
            let Some(found) = found.into_iter().find(|found| found.id == id && found.is_left())
            else {
                return Ok(Deletion::Gone);
            };
            let current = owned(&found, within);
            if current.is_none_or(|current| current.machine_uid != orphan.machine_uid) {
                return Err(not_called(ErrorClass::Conflict, messages::owner_changed(id)));
            }
            let waiting = self.delete_instance(&to, found).await?;
            Ok(waiting.map_or(Deletion::Gone, Deletion::UnderWay))
        })
    }
}

/// `None` without the tags of this cluster, or if nothing of it is left.
fn owned(found: &wire::Instance, within: &Reach) -> Option<Owned> {
    let tags = Ownership::read(|tag| found.tags.get(tag).map(String::as_str))?;
    (tags.cluster == within.cluster && found.is_left()).then(|| Owned {
        attempt: Ownership::attempt(&found.token, &tags.machine_uid),
        machine_uid: tags.machine_uid,
        tags: found.tags.clone(),
        instance: convert::instance(found, None),
        created: Some(found.created_at),
    })
}

fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The instances of a machine: those with its uid, and the one that it names if that has no owner.
fn own<'a>(
    found: &'a [wire::Instance],
    machine: &'a MachineRef,
) -> impl Iterator<Item = &'a wire::Instance> {
    found.iter().filter(|instance| match instance.tags.get(TAG_MACHINE_UID) {
        Some(owner) => **owner == *machine.uid.0,
        None => known_id(machine) == Some(instance.id.as_str()),
    })
}

/// Whether this is the latest instance that the machine requested, so that no other will appear.
fn is_the_last(found: &wire::Instance, machine: &MachineRef) -> bool {
    match Launch::stored(&machine.status) {
        Some(launch) => found.token == launch.request.token,
        None => known_id(machine) == Some(found.id.as_str()),
    }
}

fn unread(failure: &Failure) -> CloudError {
    let class = match failure.category {
        // A Secret can be fixed without an edit of the Machine.
        Category::InvalidConfiguration | Category::NotFound | Category::Unauthorised => {
            ErrorClass::Unauthorised
        }
        _ => ErrorClass::Unavailable,
    };
    not_called(class, failure.message.clone())
}

/// No request was sent.
fn not_called(class: ErrorClass, message: impl Into<String>) -> CloudError {
    CloudError { effect: Effect::None, ..CloudError::new(class, message) }
}
