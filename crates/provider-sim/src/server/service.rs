//! Carries out requests, each under one lock.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use machinist_provider::cloud::ownership::TAG_CLUSTER;

use super::SimCloud;
use super::modes::Trouble;
use super::store::{Record, hash};
use crate::wire::{ChangeTags, Code, CreateInstance, Page, Refusal, State};
use crate::{messages, types};

const PAGE: usize = 1000;

#[derive(Debug)]
pub(super) enum Outcome {
    /// A response, delayed in cloud time.
    Answer(Response<Full<Bytes>>, Duration),
    Lost,
}

impl Outcome {
    fn ok(body: &impl serde::Serialize) -> Self {
        Self::Answer(response(StatusCode::OK, body), Duration::ZERO)
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        let mut response = response(refusal.code.status(), &refusal);
        if refusal.code == Code::Throttled {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Self::Answer(response, Duration::ZERO)
    }
}

fn response(status: StatusCode, body: &impl serde::Serialize) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refuse(code: Code, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into() }
}

impl SimCloud {
    pub(super) fn serve(&self, request: &Request<Bytes>) -> Outcome {
        let (path, body) = (request.uri().path(), request.body());
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if let ["v1", "modes"] = parts.as_slice() {
            return self.serve_modes(request).unwrap_or_else(Outcome::from);
        }
        if let Some(outcome) = self.trouble(request) {
            return outcome;
        }
        let query = request.uri().query().unwrap_or_default();
        let (operation, outcome) = match (request.method().as_str(), parts.as_slice()) {
            ("POST", ["v1", "instances"]) => ("create", self.serve_create(body)),
            ("GET", ["v1", "instances"]) => ("list", self.serve_list(query)),
            ("GET", ["v1", "instances", id]) => ("get", self.on_shown(id, |_, _| {})),
            ("PATCH", ["v1", "instances", id]) => ("tag", self.serve_tags(id, body)),
            ("DELETE", ["v1", "instances", id]) => ("delete", self.on_shown(id, delete)),
            ("DELETE", ["v1", "volumes", id]) => ("delete-volume", self.serve_delete_volume(id)),
            (method, _) => {
                let message = messages::unknown("operation", &format!("{method} {path}"));
                ("unknown", Err(refuse(Code::NotFound, message)))
            }
        };
        let number = self.count(operation);
        let outcome = outcome.unwrap_or_else(Outcome::from);
        let changes = request.method() != Method::GET;
        if changes && self.loses(number) { Outcome::Lost } else { outcome }
    }

    fn serve_modes(&self, request: &Request<Bytes>) -> Result<Outcome, Refusal> {
        if request.method() == Method::PUT {
            self.set_modes(read(request.body())?);
        }
        Ok(Outcome::ok(&self.modes()))
    }

    /// Faults that apply before the request is examined.
    fn trouble(&self, request: &Request<Bytes>) -> Option<Outcome> {
        let modes = self.modes();
        let bearer = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let refusal = match modes.trouble {
            Some(Trouble::Unauthorised) => refuse(Code::Unauthorised, messages::CLOSED),
            Some(Trouble::Throttled) => refuse(Code::Throttled, messages::THROTTLED),
            Some(Trouble::Unavailable) => refuse(Code::Unavailable, messages::UNAVAILABLE),
            Some(Trouble::Nonsense) => return Some(Outcome::ok(&"no sense in this")),
            Some(Trouble::Silence) => return Some(Outcome::Lost),
            None if modes.token.is_some() && modes.token.as_deref() != bearer => {
                refuse(Code::Unauthorised, messages::WRONG_TOKEN)
            }
            None if self.is_over_rate(modes.calls_per_second) => {
                refuse(Code::Throttled, messages::THROTTLED)
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
        let full = modes.full_zones.contains(&request.zone) || request.failures.no_capacity;
        let (record, made) = store.create(request, now, hidden, full)?;
        let failures = &record.request.failures;
        let loses_own = record.answers_lost < failures.lost_create_answers;
        let late = Duration::from_secs(failures.create_answer_delay_seconds.into())
            + Duration::from_millis(modes.create_answer_delay_millis);
        record.answers_lost += u32::from(loses_own);
        let instance = record.view(now);
        if made {
            self.announce(&instance.id);
        }
        drop(store);
        if loses_own || self.takes_a_lost_answer() {
            return Ok(Outcome::Lost);
        }
        let status = if made { StatusCode::CREATED } else { StatusCode::OK };
        Ok(Outcome::Answer(response(status, &instance), late))
    }

    fn serve_list(&self, query: &str) -> Result<Outcome, Refusal> {
        let question = Question::read(query)?;
        let now = self.now();
        let store = self.store();
        let mut records: Vec<&Record> = if question.ids.is_empty() && question.uids.is_empty() {
            store.records.iter().collect()
        } else {
            let ids = question.ids.iter().filter_map(|id| store.get(id));
            ids.chain(question.uids.iter().flat_map(|uid| store.of_machine(uid))).collect()
        };
        records.sort_by_key(|record| record.number);
        records.dedup_by_key(|record| record.number);
        records.retain(|record| {
            let in_cluster = question.cluster.is_none()
                || record.tags.get(TAG_CLUSTER) == question.cluster.as_ref();
            record.number >= question.from && record.is_shown(now) && in_cluster
        });
        let most = self.modes().page_size.unwrap_or(PAGE);
        let size = question.limit.unwrap_or(most).min(most).max(1);
        let items = records.iter().take(size).map(|record| record.view(now)).collect();
        let next = records.get(size).map(|record| record.number.to_string());
        Ok(Outcome::ok(&Page { items, next }))
    }

    /// Does something with an instance that is listed, and answers with the instance.
    fn on_shown(
        &self,
        id: &str,
        work: impl FnOnce(&mut Record, Duration),
    ) -> Result<Outcome, Refusal> {
        let now = self.now();
        let mut store = self.store();
        let record = store.get_mut(id).filter(|record| record.is_shown(now));
        let record = record.ok_or_else(|| unknown("instance", id))?;
        work(record, now);
        Ok(Outcome::ok(&record.view(now)))
    }

    fn serve_tags(&self, id: &str, body: &[u8]) -> Result<Outcome, Refusal> {
        let change: ChangeTags = read(body)?;
        self.on_shown(id, |record, _| record.tags.extend(change.tags))
    }

    fn serve_delete_volume(&self, id: &str) -> Result<Outcome, Refusal> {
        let now = self.now();
        if self.store().delete_volume(id, now) {
            Ok(Outcome::ok(&serde_json::json!({})))
        } else {
            Err(unknown("volume", id))
        }
    }

    /// Whether the response to the n-th call is lost, determined by the seed.
    fn loses(&self, number: u64) -> bool {
        let share = u64::from(self.modes().lost_per_mille);
        share > 0 && hash(&(self.store().seed, number)) % 1000 < share
    }
}

fn delete(record: &mut Record, now: Duration) {
    if record.state(now).0 != State::Terminated {
        record.life.deleted.get_or_insert(now);
        record.changed.send_replace(());
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
        let invalid = |message: String| refuse(Code::InvalidParameter, message);
        let number = |name: &str, text: &str| {
            text.parse().map_err(|_| invalid(messages::not_a_number(name, text)))
        };
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "ids" => question.ids = list(&value),
                "uids" => question.uids = list(&value),
                "cluster" => question.cluster = Some(value.into_owned()),
                "limit" => question.limit = Some(number(&name, &value)?),
                "continue" => question.from = number(&name, &value)?,
                other => return Err(invalid(messages::unknown("parameter", other))),
            }
        }
        Ok(question)
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| refuse(Code::InvalidParameter, error.to_string()))
}

fn unknown(what: &str, id: &str) -> Refusal {
    refuse(Code::NotFound, messages::not_found(what, id))
}

fn check(request: &CreateInstance) -> Result<(), Refusal> {
    let message = if request.token.is_empty() || request.metadata.name.is_empty() {
        messages::NO_NAME.to_owned()
    } else if types::capacity(&request.instance_type).is_none() {
        messages::unknown("instance type", &request.instance_type)
    } else if !types::ZONES.contains(&request.zone.as_str()) {
        messages::unknown("zone", &request.zone)
    } else {
        return Ok(());
    };
    Err(refuse(Code::InvalidParameter, message))
}
