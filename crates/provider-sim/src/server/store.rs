//! Invariants: a token stands for one request and one instance; records are never removed, only no longer listed.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use machinist_api::names::TAG_MACHINE_UID;
use tokio::sync::watch;

use super::life::Life;
use crate::messages;
use crate::wire::{Code, CreateInstance, Instance, Refusal, State, Volume};

/// How long a terminated instance is listed.
const REMEMBERED: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) seed: u64,
    pub(super) records: Vec<Record>,
    by_id: HashMap<String, usize>,
    by_token: HashMap<String, usize>,
    by_uid: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) request: CreateInstance,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) life: Life,
    created_at: jiff::Timestamp,
    visible: Duration,
    data_volume: Option<Volume>,
    /// While its kubelet registers, it is not reported as gone.
    pub(super) registering: bool,
    /// The number of create responses that were lost on purpose.
    pub(super) answers_lost: u32,
    /// Notified when its state changes out of order.
    pub(super) changed: watch::Sender<()>,
}

impl Store {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Returns the instance of the request's token, created if missing, and whether it was created.
    pub(super) fn create(
        &mut self,
        request: CreateInstance,
        now: Duration,
        hidden: Duration,
        full: bool,
    ) -> Result<(&mut Record, bool), Refusal> {
        if let Some(&number) = self.by_token.get(&request.token) {
            if self.records[number].request == request {
                return Ok((&mut self.records[number], false));
            }
            let message = messages::token_reused(&request.token);
            return Err(Refusal { code: Code::TokenMismatch, message });
        }
        if full {
            let message = messages::no_capacity(&request);
            return Err(Refusal { code: Code::InsufficientCapacity, message });
        }
        let number = self.records.len();
        let id = self.new_id(&request);
        let boots = (!request.failures.never_boots).then(|| now + seconds(request.boot_seconds));
        let dies = request.failures.dies_after_seconds.map(seconds);
        self.by_token.insert(request.token.clone(), number);
        self.by_id.insert(id.clone(), number);
        if let Some(uid) = request.tags.get(TAG_MACHINE_UID) {
            self.by_uid.entry(uid.clone()).or_default().push(number);
        }
        let life = Life {
            boots,
            dies: boots.zip(dies).map(|(boots, dies)| boots + dies),
            deleted: None,
            stop: seconds(request.stop_seconds),
        };
        let data_volume =
            request.data_volume_gib.map(|gib| Volume { id: format!("{id}-data"), gib });
        self.records.push(Record {
            number,
            id,
            tags: request.tags.clone(),
            request,
            life,
            created_at: jiff::Timestamp::now(),
            visible: now + hidden,
            data_volume,
            registering: false,
            answers_lost: 0,
            changed: watch::Sender::new(()),
        });
        Ok((&mut self.records[number], true))
    }

    /// From the name and a hash of seed and token: recognisable, and the same in every run.
    fn new_id(&self, request: &CreateInstance) -> String {
        let mut name = request.metadata.name.replace('.', "-");
        name.truncate(name.floor_char_boundary(48));
        let name = name.trim_matches('-');
        let mut salt = 0_u32;
        loop {
            let hash = hash(&(self.seed, &request.token, salt));
            let id = format!("{name}-{:08x}", hash & 0xffff_ffff);
            if !self.by_id.contains_key(&id) {
                return id;
            }
            salt += 1;
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Record> {
        self.by_id.get(id).map(|number| &self.records[*number])
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Record> {
        self.by_id.get(id).map(|number| &mut self.records[*number])
    }

    pub(super) fn of_machine(&self, uid: &str) -> impl Iterator<Item = &Record> {
        self.by_uid.get(uid).into_iter().flatten().map(|number| &self.records[*number])
    }

    /// Deletes a leftover volume; `false` if it does not exist or is in use.
    pub(super) fn delete_volume(&mut self, id: &str, now: Duration) -> bool {
        let record = id.strip_suffix("-data").and_then(|instance| self.get_mut(instance));
        record.is_some_and(|record| {
            record.state(now).0 == State::Terminated && record.data_volume.take().is_some()
        })
    }
}

impl Record {
    pub(super) fn state(&self, now: Duration) -> (State, Option<&'static str>) {
        match self.life.state(now) {
            (State::Terminated, reason) if self.registering => (State::ShuttingDown, reason),
            state => state,
        }
    }

    pub(super) fn is_shown(&self, now: Duration) -> bool {
        let ended =
            self.life.dies.into_iter().chain(self.life.deleted.map(|at| at + self.life.stop));
        let forgotten = ended.min().is_some_and(|end| end + REMEMBERED <= now);
        self.visible <= now && !(forgotten && self.data_volume.is_none())
    }

    pub(super) fn view(&self, now: Duration) -> Instance {
        let (state, reason) = self.state(now);
        let root = Volume { id: format!("{}-root", self.id), gib: self.request.root_volume_gib };
        let root = (state != State::Terminated).then_some(root);
        Instance {
            id: self.id.clone(),
            name: self.request.metadata.name.clone(),
            token: self.request.token.clone(),
            state,
            state_reason: reason.map(str::to_owned),
            region: self.request.region.clone(),
            zone: self.request.zone.clone(),
            instance_type: self.request.instance_type.clone(),
            address: self.address(),
            volumes: root.into_iter().chain(self.data_volume.clone()).collect(),
            tags: self.tags.clone(),
            created_at: self.created_at,
        }
    }

    /// Addresses are unique within sixteen million.
    fn address(&self) -> String {
        let number = self.number;
        format!("10.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255)
    }
}

/// The same value for the same input in every process.
pub(super) fn hash(input: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    hasher.finish()
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
