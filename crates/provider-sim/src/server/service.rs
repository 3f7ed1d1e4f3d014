//! Carries out requests, each under one lock.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use machinist_provider::cloud::ownership::TAG_CLUSTER;

use super::SimCloud;
use super::modes::{Modes, Trouble};
use super::store::hash;
use crate::types;
use crate::wire::{ChangeTags, Code, CreateInstance, Page, Refusal, State};

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) bearer: Option<String>,
    pub(super) body: Bytes,
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// A response, delayed in cloud time.
    Answer { status: u16, body: Vec<u8>, retry_after: Option<u32>, late: Duration },
    /// The connection is closed without a response.
    Lost,
}

impl Outcome {
    fn of(status: u16, body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::Answer { status, body, retry_after: None, late: Duration::ZERO }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        let mut outcome = Self::of(refusal.code.status(), &refusal);
        if let (Code::Throttled, Self::Answer { retry_after, .. }) = (refusal.code, &mut outcome) {
            *retry_after = Some(1);
        }
        outcome
    }
}

fn refuse(code: Code, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into() }
}

impl SimCloud {
    pub(super) fn serve(&self, call: &Call) -> Outcome {
        let parts: Vec<&str> = call.path.split('/').filter(|part| !part.is_empty()).collect();
        if let ["v1", "modes"] = parts.as_slice() {
            return self.serve_modes(call);
        }
        if let Some(outcome) = self.trouble(call) {
            return outcome;
        }
        let (operation, outcome) = match (call.method.as_str(), parts.as_slice()) {
            ("POST", ["v1", "instances"]) => ("create", self.serve_create(&call.body)),
            ("GET", ["v1", "instances"]) => ("list", self.serve_list(&call.query)),
            ("GET", ["v1", "instances", id]) => ("get", self.serve_get(id)),
            ("PATCH", ["v1", "instances", id]) => ("tag", self.serve_tags(id, &call.body)),
            ("DELETE", ["v1", "instances", id]) => ("delete", self.serve_delete(id)),
            ("DELETE", ["v1", "volumes", id]) => ("delete-volume", self.serve_delete_volume(id)),
            (method, _) => {
                let message = format!("unknown operation {method} {}", call.path);
                ("unknown", Err(refuse(Code::NotFound, message)))
            }
        };
        let number = self.count(operation);
        let outcome = outcome.unwrap_or_else(Outcome::from);
        let changes = call.method != Method::GET;
        if changes && self.loses(number) { Outcome::Lost } else { outcome }
    }

    fn serve_modes(&self, call: &Call) -> Outcome {
        if call.method == Method::PUT {
            match serde_json::from_slice::<Modes>(&call.body) {
                Ok(modes) => self.set_modes(modes),
                Err(error) => return refuse(Code::InvalidParameter, error.to_string()).into(),
            }
        }
        Outcome::of(200, &self.modes())
    }

    /// Faults that apply before the request is examined.
    fn trouble(&self, call: &Call) -> Option<Outcome> {
        let modes = self.modes();
        let refusal = match modes.trouble {
            Some(Trouble::Unauthorised) => refuse(Code::Unauthorised, "this account is closed"),
            Some(Trouble::Throttled) => refuse(Code::Throttled, "too many calls"),
            Some(Trouble::Unavailable) => refuse(Code::Unavailable, "the cloud is in trouble"),
            Some(Trouble::Nonsense) => return Some(Outcome::of(200, &"no sense in this")),
            Some(Trouble::Silence) => return Some(Outcome::Lost),
            None if modes.token.is_some() && modes.token != call.bearer => {
                refuse(Code::Unauthorised, "the token is missing or not the right one")
            }
            None if self.is_over_rate(modes.calls_per_second) => {
                refuse(Code::Throttled, "too many calls")
            }
            None => return None,
        };
        self.count("refused");
        Some(refusal.into())
    }

    fn serve_create(&self, body: &[u8]) -> Result<Outcome, Refusal> {
        let request: CreateInstance = read(body)?;
        check(&request)?;
        let modes = self.modes();
        let hidden = Duration::from_millis(modes.hidden_millis);
        let now = self.now();
        let mut store = self.store();
        let is_new = store.with_token(&request.token).is_none();
        let full = modes.full_zones.contains(&request.zone) || request.failures.no_capacity;
        if is_new && full {
            let message =
                format!("no capacity for {} in zone {}", request.instance_type, request.zone);
            return Err(refuse(Code::InsufficientCapacity, message));
        }
        let (place, made) = store.create(request, now, hidden)?;
        let instance = store.view(place, now);
        let record = store.record_mut(place);
        let loses_own = record.answers_lost < record.failures().lost_create_answers;
        record.answers_lost += u32::from(loses_own);
        let late = Duration::from_secs(record.failures().create_answer_delay_seconds.into())
            + Duration::from_millis(modes.create_answer_delay_millis);
        drop(store);
        if made {
            self.announce(place);
        }
        if loses_own || self.takes_a_lost_answer() {
            return Ok(Outcome::Lost);
        }
        let mut outcome = Outcome::of(if made { 201 } else { 200 }, &instance);
        if let Outcome::Answer { late: delay, .. } = &mut outcome {
            *delay = late;
        }
        Ok(outcome)
    }

    fn serve_list(&self, query: &str) -> Result<Outcome, Refusal> {
        let question = Question::read(query)?;
        let now = self.now();
        let store = self.store();
        let places: Vec<usize> = if question.names_instances() {
            let ids = question.ids.iter().filter_map(|id| store.place(id));
            let uids = question.uids.iter().flat_map(|uid| store.of_machine(uid).iter().copied());
            ids.chain(uids).collect::<BTreeSet<_>>().into_iter().collect()
        } else {
            (0..store.len()).collect()
        };
        let fits = |place: &usize| {
            let record = store.record(*place);
            let cluster = question.cluster.as_deref();
            record.is_shown(now) && (cluster.is_none() || record.tag(TAG_CLUSTER) == cluster)
        };
        let mut found = places.into_iter().filter(|place| *place >= question.from).filter(fits);
        let size = question.limit.unwrap_or(usize::MAX).min(self.modes().page_size).max(1);
        let items = found.by_ref().take(size).map(|place| store.view(place, now)).collect();
        let next = found.next().map(|place| place.to_string());
        Ok(Outcome::of(200, &Page { items, next }))
    }

    fn serve_get(&self, id: &str) -> Result<Outcome, Refusal> {
        let now = self.now();
        let store = self.store();
        let place = store.shown(id, now).ok_or_else(|| unknown("instance", id))?;
        Ok(Outcome::of(200, &store.view(place, now)))
    }

    fn serve_tags(&self, id: &str, body: &[u8]) -> Result<Outcome, Refusal> {
        let change: ChangeTags = read(body)?;
        let now = self.now();
        let mut store = self.store();
        let place = store.shown(id, now).ok_or_else(|| unknown("instance", id))?;
        store.record_mut(place).merge_tags(change.tags);
        Ok(Outcome::of(200, &store.view(place, now)))
    }

    fn serve_delete(&self, id: &str) -> Result<Outcome, Refusal> {
        let now = self.now();
        let mut store = self.store();
        let place = store.shown(id, now).ok_or_else(|| unknown("instance", id))?;
        let record = store.record_mut(place);
        if record.state(now).0 != State::Terminated {
            record.life.deleted.get_or_insert(now);
            record.changed.send_replace(());
        }
        Ok(Outcome::of(200, &store.view(place, now)))
    }

    fn serve_delete_volume(&self, id: &str) -> Result<Outcome, Refusal> {
        let now = self.now();
        if self.store().delete_volume(id, now) {
            Ok(Outcome::of(200, &serde_json::json!({})))
        } else {
            Err(unknown("volume", id))
        }
    }

    /// Whether the response to the n-th call is lost, determined by the seed.
    fn loses(&self, number: u64) -> bool {
        let share = u64::from(self.modes().lost_per_mille);
        share > 0 && hash(&(self.seed(), number)) % 1000 < share
    }
}

#[derive(Debug, Default)]
struct Question {
    ids: Vec<String>,
    uids: Vec<String>,
    cluster: Option<String>,
    limit: Option<usize>,
    from: usize,
}

impl Question {
    fn read(query: &str) -> Result<Self, Refusal> {
        let mut question = Self::default();
        let number = |text: &str| {
            text.parse().map_err(|_| {
                refuse(Code::InvalidParameter, format!("{text:?} is no number of this cloud"))
            })
        };
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "ids" => question.ids = list(&value),
                "uids" => question.uids = list(&value),
                "cluster" => question.cluster = Some(value.into_owned()),
                "limit" => question.limit = Some(number(&value)?),
                "continue" => question.from = number(&value)?,
                other => {
                    let message = format!("unknown parameter {other:?}");
                    return Err(refuse(Code::InvalidParameter, message));
                }
            }
        }
        Ok(question)
    }

    fn names_instances(&self) -> bool {
        !self.ids.is_empty() || !self.uids.is_empty()
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| refuse(Code::InvalidParameter, error.to_string()))
}

fn unknown(what: &str, id: &str) -> Refusal {
    refuse(Code::NotFound, format!("{what} {id:?} does not exist"))
}

fn check(request: &CreateInstance) -> Result<(), Refusal> {
    let invalid = |message: String| Err(refuse(Code::InvalidParameter, message));
    if request.token.is_empty() || request.metadata.name.is_empty() {
        return invalid("token and name are required".to_owned());
    }
    if types::capacity(&request.instance_type).is_none() {
        return invalid(format!("unknown instance type {:?}", request.instance_type));
    }
    if !types::ZONES.contains(&request.zone.as_str()) {
        return invalid(format!("unknown zone {:?}", request.zone));
    }
    Ok(())
}
