//! The cloud half: calls the simulated cloud over HTTP.
//!
//! Invariants: instances are found by the machine's uid or by a stored id; only the time of the first miss is kept in
//! memory; resources of another machine are never changed.

mod convert;
mod http;
mod launch;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ::http::Method;
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

use self::http::{Address, Bearer, Http};
use self::launch::{Launch, known_id};
use crate::wire::{self, ChangeTags, Page, State};

/// The maximum number of machines per request: their uids are in the URL.
const ASKED_TOGETHER: usize = 500;

/// Calls the simulated cloud.
pub struct SimClient {
    endpoint: Option<String>,
    http: Http,
    parts: Parts,
    absences: Absences,
}

impl fmt::Debug for SimClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimClient").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl SimClient {
    /// Calls the cloud at `endpoint`, or at the endpoint of a machine's access.
    pub fn new(endpoint: Option<String>, parts: Parts) -> Self {
        let http = Http::new(parts.timings.request);
        Self { endpoint, http, parts, absences: Absences::default() }
    }

    async fn address(&self, access: &CloudAccess) -> Result<Address, CloudError> {
        let endpoint =
            self.endpoint.clone().or_else(|| access.endpoint.as_deref().map(str::to_owned));
        // The Machine's spec is not wrong, so it must not fail for good.
        let not_called = |class, message: String| CloudError {
            effect: Effect::None,
            ..CloudError::new(class, message)
        };
        let endpoint = endpoint.ok_or_else(|| {
            not_called(
                ErrorClass::Unavailable,
                "the simulated cloud has no endpoint; set MACHINIST_SIM_ENDPOINT".to_owned(),
            )
        })?;
        let bearer = match &access.credentials {
            Credentials::Ambient => None,
            Credentials::Secret { key, .. } => {
                let secret =
                    self.parts.secrets.read(key).await.map_err(|failure| unread(&failure))?;
                let token = secret.text("token").map(str::to_owned);
                Some(Bearer(token.ok_or_else(|| {
                    let message = format!("Secret {key} has no key \"token\"");
                    not_called(ErrorClass::Unauthorised, message)
                })?))
            }
        };
        Ok(Address { endpoint: endpoint.trim_end_matches('/').to_owned(), bearer })
    }

    /// Counts a call.
    fn record<T>(
        &self,
        call: &'static str,
        result: Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let word = result.as_ref().map_or_else(|error| error.category().as_str(), |_| "ok");
        self.parts.metrics.record_call(call, word);
        result
    }

    async fn pages(&self, to: &Address, query: &str) -> Result<Vec<wire::Instance>, CloudError> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/v1/instances?{query}{next}");
            let page: Page = self.record("list", self.http.get(to, &path).await)?;
            all.extend(page.items);
            match page.next {
                None => return Ok(all),
                Some(token) => next = format!("&continue={token}"),
            }
        }
    }

    /// Everything that may belong to these machines of one access.
    async fn find(&self, machines: &[&MachineRef]) -> Result<Vec<wire::Instance>, CloudError> {
        let Some(first) = machines.first() else {
            return Ok(Vec::new());
        };
        let to = self.address(&first.access).await?;
        let mut found = Vec::new();
        for some in machines.chunks(ASKED_TOGETHER) {
            let uids: Vec<_> = some.iter().map(|machine| &*machine.uid.0).collect();
            let ids: Vec<_> = some.iter().filter_map(|machine| known_id(machine)).collect();
            let query = query(&[("uids", &uids.join(",")), ("ids", &ids.join(","))]);
            found.extend(self.pages(&to, &query).await?);
        }
        Ok(found)
    }

    async fn create_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let launch = Launch::of(machine)?;
        let to = self.address(&machine.access).await?;
        // The request restarts the wait for the instance to be listed.
        self.absences.forget(&machine.uid);
        let request = &launch.request;
        let answer = self.http.send_json(&to, Method::POST, "/v1/instances", request).await;
        let found: wire::Instance = self.record("create", answer).map_err(|error| {
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
    }

    async fn describe_now(&self, machines: &[MachineRef]) -> Vec<ObservedInstance> {
        let mut observed = vec![ObservedInstance::NotAsked; machines.len()];
        let mut accesses: Vec<(&CloudAccess, Vec<usize>)> = Vec::new();
        for (place, machine) in machines.iter().enumerate() {
            match accesses.iter_mut().find(|(access, _)| **access == machine.access) {
                Some((_, places)) => places.push(place),
                None => accesses.push((&machine.access, vec![place])),
            }
        }
        for (_, places) in accesses {
            let asked: Vec<_> = places.iter().map(|place| &machines[*place]).collect();
            match self.find(&asked).await {
                Ok(found) => {
                    let by_owner = by_owner(&found, &asked);
                    for place in places {
                        let machine = &machines[place];
                        let own = by_owner.get(&*machine.uid.0).map_or(&[][..], Vec::as_slice);
                        observed[place] = self.observe(machine, own);
                    }
                }
                Err(error) => {
                    for place in places {
                        observed[place] = ObservedInstance::Unknown(error.failure());
                    }
                }
            }
        }
        observed
    }

    fn observe(&self, machine: &MachineRef, found: &[&wire::Instance]) -> ObservedInstance {
        let foreign = found.iter().find_map(|instance| {
            convert::foreign_owner(instance, machine).map(|owner| (&instance.id, owner))
        });
        if let Some((id, owner)) = foreign {
            return ObservedInstance::Unknown(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: format!("instance {id} belongs to the Machine with uid {owner}"),
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
                message: "instance not found yet; the cloud lists new instances with a delay"
                    .to_owned(),
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

    async fn update_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let found = self.find(&[machine]).await?;
        let own: Vec<_> = own(&found, machine).collect();
        let current = convert::current(&own, machine).filter(|found| found.is_left());
        let current = current.ok_or_else(|| {
            let message = format!("Machine {} has no instance", machine.key);
            CloudError::new(ErrorClass::NotFound, message)
        })?;
        let seen = convert::instance(current, Some(machine));
        if seen.drift.is_none() {
            return Ok(seen);
        }
        let to = self.address(&machine.access).await?;
        let change = ChangeTags { tags: convert::wanted_tags(machine).into_iter().collect() };
        let path = format!("/v1/instances/{}", current.id);
        let answer = self.http.send_json(&to, Method::PATCH, &path, &change).await;
        let changed: wire::Instance = self.record("tag", answer)?;
        Ok(convert::instance(&changed, Some(machine)))
    }

    async fn delete_now(&self, machine: &MachineRef) -> Result<Deletion, CloudError> {
        let found = self.find(&[machine]).await?;
        let to = self.address(&machine.access).await?;
        let mut waiting = None;
        for mut instance in own(&found, machine).cloned() {
            if instance.state != State::Terminated && instance.state != State::ShuttingDown {
                let path = format!("/v1/instances/{}", instance.id);
                instance = self.record("delete", self.http.delete(&to, &path).await)?;
            }
            if instance.state != State::Terminated {
                waiting = Some(format!("instance {} is {}", instance.id, instance.state.as_str()));
                continue;
            }
            for volume in &instance.volumes {
                let path = format!("/v1/volumes/{}", volume.id);
                let gone = self.record("delete-volume", self.http.delete(&to, &path).await);
                match gone {
                    Err(error) if error.class == ErrorClass::NotFound => {}
                    gone => gone.map(|_: serde_json::Value| ())?,
                }
            }
        }
        if let Some(waiting) = waiting {
            return Ok(Deletion::UnderWay(waiting));
        }
        let seen = own(&found, machine).any(|found| is_the_last(found, machine));
        if !seen && self.may_still_appear(machine).is_some() {
            // Without the remaining time: a changing text would be a write each time.
            let message =
                "instance not found; waiting in case the cloud lists it with a delay".to_owned();
            return Ok(Deletion::UnderWay(message));
        }
        self.absences.forget(&machine.uid);
        Ok(Deletion::Gone)
    }

    async fn list_now(&self, within: &Reach) -> Result<Vec<Owned>, CloudError> {
        let to = self.address(&within.access).await?;
        let found = self.pages(&to, &query(&[("cluster", &within.cluster)])).await?;
        let owned = found.iter().filter(|instance| instance.is_left()).filter_map(|instance| {
            let tags = Ownership::read(|tag| instance.tags.get(tag).map(String::as_str))?;
            Some(Owned {
                machine_uid: tags.machine_uid,
                instance: convert::instance(instance, None),
                created: Some(instance.created_at),
            })
        });
        Ok(owned.collect())
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
        Box::pin(self.create_now(machine))
    }

    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(self.describe_now(machines))
    }

    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(self.update_now(machine))
    }

    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(self.delete_now(machine))
    }

    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(self.list_now(within))
    }
}

/// Pairs without a value are omitted.
fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn own<'a>(
    found: &'a [wire::Instance],
    machine: &'a MachineRef,
) -> impl Iterator<Item = &'a wire::Instance> {
    let is_ours = |instance: &&wire::Instance| {
        let named = known_id(machine) == Some(instance.id.as_str());
        let owner = instance.tags.get(machinist_api::names::TAG_MACHINE_UID);
        owner.map_or(named, |owner| **owner == *machine.uid.0)
    };
    found.iter().filter(is_ours)
}

/// Whether this is the latest instance that the machine requested, so that no other will appear.
fn is_the_last(found: &wire::Instance, machine: &MachineRef) -> bool {
    match Launch::stored(&machine.status) {
        Some(launch) => found.token == launch.request.token,
        None => known_id(machine) == Some(found.id.as_str()),
    }
}

/// The instances by the uid of the machine that owns or names them.
fn by_owner<'a>(
    found: &'a [wire::Instance],
    asked: &[&'a MachineRef],
) -> BTreeMap<&'a str, Vec<&'a wire::Instance>> {
    let named: BTreeMap<_, _> =
        asked.iter().filter_map(|machine| Some((known_id(machine)?, &*machine.uid.0))).collect();
    let mut by_owner: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for instance in found {
        let owner = instance.tags.get(machinist_api::names::TAG_MACHINE_UID).map(String::as_str);
        let named = named.get(instance.id.as_str()).copied();
        for uid in owner.into_iter().chain(named.filter(|named| Some(*named) != owner)) {
            by_owner.entry(uid).or_default().push(instance);
        }
    }
    by_owner
}

fn unread(failure: &Failure) -> CloudError {
    let class = match failure.category {
        // A Secret can be fixed without an edit of the Machine.
        Category::InvalidConfiguration | Category::NotFound | Category::Unauthorised => {
            ErrorClass::Unauthorised
        }
        _ => ErrorClass::Unavailable,
    };
    // No request was sent.
    CloudError { effect: Effect::None, ..CloudError::new(class, failure.message.clone()) }
}
