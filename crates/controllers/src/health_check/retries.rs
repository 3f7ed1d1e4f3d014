//! How often Machines were replaced one after the other in the same place. Pure.
//!
//! The health check has a record of each Machine from before its deletion (`machinist.dev/remediations`). The Machine
//! that replaces it, the first one of the set that was created since, inherits its count. A Machine that was healthy
//! for long enough inherits nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::snapshot::{Member, started};
use crate::kinds::MachineHealthCheck;

/// Records of Machines whose replacement cannot matter any more are kept for that long beyond the healthy period.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// From the record to the replacement takes a moment.
const SHORTEST: SignedDuration = SignedDuration::from_mins(2);
/// Records have the time of this process, Machines that of the API server, in whole seconds.
const SKEW: SignedDuration = SignedDuration::from_secs(10);
/// More do not fit into an annotation.
pub(super) const MOST: usize = 512;
const VERSION: &str = "v1 ";

/// A Machine that is about to be deleted, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The uid of its MachineSet.
    set: String,
    /// Its uid.
    machine: String,
    /// How many Machines were replaced in its place, it included.
    retries: usize,
    at: Timestamp,
}

/// The records of a health check with a limit.
#[derive(Debug)]
pub(super) struct Retries<'a> {
    pub(super) max: usize,
    pub(super) min_healthy: SignedDuration,
    now: Timestamp,
    records: Vec<Record>,
    /// The records of the Machines themselves, and of those that they replace, by uid.
    own: HashMap<&'a str, usize>,
    inherited: HashMap<&'a str, usize>,
    /// Those that a Machine of the health check inherits, or may still inherit.
    needed: HashSet<usize>,
}

impl<'a> Retries<'a> {
    /// `None` if the health check has no valid limit.
    pub(super) fn of(
        check: &MachineHealthCheck,
        members: &'a [Member],
        now: Timestamp,
    ) -> Option<Self> {
        let (Ok(Some(max)), Ok(min_healthy)) = (&check.max_retries, &check.min_healthy) else {
            return None;
        };
        let min_healthy = SignedDuration::try_from(*min_healthy).unwrap_or(SignedDuration::MAX);
        let records = read(check.remediations.as_deref());
        let mut retries = Self {
            max: *max,
            min_healthy,
            now,
            records,
            own: HashMap::new(),
            inherited: HashMap::new(),
            needed: HashSet::new(),
        };
        retries.assign(members);
        retries.needed = retries.needed();
        Some(retries)
    }

    fn assign(&mut self, members: &'a [Member]) {
        let window = self.window();
        let Self { records, own, inherited, .. } = self;
        let records = records.iter().enumerate();
        let by_machine: HashMap<_, _> =
            records.clone().map(|(at, record)| (&*record.machine, at)).collect();
        // Those that may replace others in each set, the oldest first.
        let mut successors = BTreeMap::<&str, Vec<(Timestamp, &'a str)>>::new();
        let mut alive = HashSet::new();
        for member in members {
            let uid = &*member.meta.uid.0;
            let recorded = by_machine.get(uid).copied();
            own.extend(recorded.map(|at| (uid, at)));
            if member.meta.deleting {
                continue;
            }
            alive.insert(uid);
            let machine = member.machine.as_deref().filter(|_| recorded.is_none());
            if let Some((machine, owner)) = machine.and_then(|one| Some((one, one.owner.as_ref()?)))
            {
                successors.entry(&*owner.uid.0).or_default().push((machine.created, uid));
            }
        }
        for of_set in successors.values_mut() {
            of_set.sort_unstable();
        }
        for (at, record) in records.filter(|(_, record)| !alive.contains(&*record.machine)) {
            let Some(of_set) = successors.get_mut(&*record.set) else { continue };
            let from = record.at.checked_sub(SKEW).unwrap_or(record.at);
            let until = record.at.checked_add(window).unwrap_or(Timestamp::MAX);
            let next = of_set.iter().position(|(time, _)| (from..=until).contains(time));
            if let Some((_, uid)) = next.map(|next| of_set.remove(next)) {
                inherited.insert(uid, at);
            }
        }
    }

    /// How long after its record a Machine is replaced by one that inherits it.
    fn window(&self) -> SignedDuration {
        self.min_healthy.max(SHORTEST)
    }

    /// How many Machines were replaced in the place of this one, which is unhealthy since then. If that is not known,
    /// as for a Machine that has failed, it counts as one that was not healthy for long.
    pub(super) fn before(&self, member: &Member, since: Option<Timestamp>) -> usize {
        let uid = &*member.meta.uid.0;
        let Some(machine) = member.machine.as_deref() else { return 0 };
        let healthy = since.map(|since| since.duration_since(started(machine)));
        if healthy.is_some_and(|healthy| healthy >= self.min_healthy) {
            return 0;
        }
        let count = |at: &usize| self.records.get(*at).map_or(0, |record| record.retries);
        match self.own.get(uid) {
            Some(own) => count(own).saturating_sub(1),
            None => self.inherited.get(uid).map_or(0, count),
        }
    }

    /// Whether the record that its deletion needs is stored: one that its successor will find.
    pub(super) fn is_recorded(&self, member: &Member, before: usize) -> bool {
        let own = self.own.get(&*member.meta.uid.0).and_then(|at| self.records.get(*at));
        let fresh = self.window() / 2;
        own.is_some_and(|record| {
            record.retries == before + 1 && self.now.duration_since(record.at) < fresh
        })
    }

    /// Whether there is room for another record beside so many new ones.
    pub(super) fn has_room(&self, new: usize) -> bool {
        self.needed.len() + new < MOST
    }

    fn needed(&self) -> HashSet<usize> {
        let lasts = |record: &Record| {
            let age = self.now.duration_since(record.at);
            age.saturating_sub(self.min_healthy).saturating_sub(self.min_healthy) < KEPT
        };
        let recent = self.records.iter().enumerate().filter(|(_, record)| lasts(record));
        let of_members = self.inherited.values().chain(self.own.values()).copied();
        recent.map(|(at, _)| at).chain(of_members).collect()
    }

    /// The annotation with records of these Machines, each with the count before.
    pub(super) fn with(&self, remediated: &[(&Member, usize)]) -> String {
        let replaced: HashSet<_> =
            remediated.iter().map(|(member, _)| &*member.meta.uid.0).collect();
        // The record from which one of them inherits is not needed any more.
        let consumed: HashSet<_> =
            replaced.iter().filter_map(|uid| self.inherited.get(*uid)).collect();
        let kept = self.records.iter().enumerate().filter(|(at, record)| {
            !consumed.contains(at)
                && !replaced.contains(&*record.machine)
                && self.needed.contains(at)
        });
        let mut records: Vec<_> = kept.map(|(_, record)| record.clone()).collect();
        records.extend(remediated.iter().filter_map(|(member, before)| {
            let owner = member.machine.as_deref()?.owner.as_deref()?;
            Some(Record {
                set: owner.uid.to_string(),
                machine: member.meta.uid.to_string(),
                retries: before + 1,
                at: self.now,
            })
        }));
        records.sort_by(|a, b| (a.at, &a.machine).cmp(&(b.at, &b.machine)));
        format!("{VERSION}{}", json!(records))
    }
}

/// What cannot be read, or is of a later version, counts as nothing.
fn read(stored: Option<&str>) -> Vec<Record> {
    let records = stored.and_then(|text| serde_json::from_str(text.strip_prefix(VERSION)?).ok());
    records.unwrap_or_default()
}
