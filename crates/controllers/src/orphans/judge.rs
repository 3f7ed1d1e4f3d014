//! Decides for every listed instance whether it is an orphan, and whether it may be deleted. Pure.
//!
//! Ages count from before the views were read: an instance that is older than the grace period was launched long before
//! the Machines were read, so its Machine is among them however stale they are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{Instance, InstanceState, Owned};

use super::verdict::{Kept, Origin, Standing, Verdict};
use super::view::{Doubt, KnownMachine, View};

/// At most so many orphans are deleted at once, or [`SHARE`] of the instances if that is less, but at least one.
const MOST: usize = 5;

/// In percent.
const SHARE: usize = 10;

#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    pub owned: &'a Owned,
    /// When it was first seen to be an orphan; `None` if it was not before.
    pub first_seen: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How old an orphan must be.
    pub grace: Duration,
    /// Whether it must have been seen before. `false` if it is looked at again before it is deleted.
    pub seen_before: bool,
}

/// The verdicts, in the same order.
pub fn judge(seen: &[Sighting<'_>], view: &View, rules: Rules) -> Vec<Verdict> {
    let index = Index::of(seen, view);
    let mut verdicts: Vec<_> = seen.iter().map(|one| index.verdict(*one, view, rules)).collect();
    let ours = verdicts.iter().filter(|one| **one != Verdict::Kept(Kept::Foreign)).count();
    doubt_if_most_are_unknown(&mut verdicts, ours, view);
    limit(seen, &mut verdicts, ours);
    verdicts
}

/// The Machines of another cluster, or those of an old backup, know hardly any of the instances.
fn doubt_if_most_are_unknown(verdicts: &mut [Verdict], listed: usize, view: &View) {
    let orphans = verdicts.iter().filter(|one| one.is_orphan()).count();
    let is_kept = |one: &Verdict| matches!(one, Verdict::Kept(Kept::Machine(_)));
    let none_is_known = view.machines.iter().any(|machine| machine.provider_id.is_some())
        && !verdicts.iter().any(is_kept);
    let doubt = if none_is_known {
        Doubt::NoneKnown
    } else if orphans > MOST && orphans * 2 > listed {
        Doubt::MostUnknown { orphans, listed }
    } else {
        return;
    };
    for verdict in verdicts {
        if let Verdict::Orphan(_, standing) = verdict
            && !matches!(standing, Standing::HasNode(_) | Standing::Blocked(_))
        {
            *standing = Standing::Blocked(doubt.clone());
        }
    }
}

/// The oldest go first.
fn limit(seen: &[Sighting<'_>], verdicts: &mut [Verdict], listed: usize) {
    let most = (listed * SHARE / 100).clamp(1, MOST);
    let order = |at: &usize| seen.get(*at).map(|one| (one.owned.created, &one.owned.instance.id));
    let collectable = verdicts.iter().enumerate().filter(|(_, one)| one.is_collectable());
    let mut places: Vec<_> = collectable.map(|(at, _)| at).collect();
    places.sort_by_key(order);
    for at in places.into_iter().skip(most) {
        if let Some(Verdict::Orphan(_, standing)) = verdicts.get_mut(at) {
            *standing = Standing::OverLimit(most);
        }
    }
}

struct Index<'a> {
    by_uid: HashMap<&'a Uid, &'a KnownMachine>,
    by_name: HashMap<&'a str, &'a KnownMachine>,
    undecodable: HashMap<&'a Uid, &'a ObjectKey>,
    nodes: HashMap<&'a str, &'a Arc<str>>,
    /// The attempts of the listed instances that run, by id.
    running: HashMap<&'a str, u32>,
}

impl<'a> Index<'a> {
    fn of(seen: &[Sighting<'a>], view: &'a View) -> Self {
        let machines = &view.machines;
        let names = machines.iter().flat_map(|one| one.names().map(move |name| (name, one)));
        let nodes = view.nodes.iter();
        let running = seen.iter().map(|one| one.owned);
        let running = running.filter(|one| one.instance.state == InstanceState::Running);
        Self {
            by_uid: machines.iter().map(|one| (&one.uid, one)).collect(),
            by_name: names.collect(),
            undecodable: view.undecodable.iter().map(|(key, uid)| (uid, key)).collect(),
            nodes: nodes.flat_map(|one| one.names().map(move |name| (name, &one.name))).collect(),
            running: running.filter_map(|one| Some((&*one.instance.id, one.attempt?))).collect(),
        }
    }

    fn verdict(&self, one: Sighting<'_>, view: &View, rules: Rules) -> Verdict {
        let owned = one.owned;
        let ownership = Ownership::read(|tag| owned.tags.get(tag).map(String::as_str));
        let expected = Ownership {
            cluster: Arc::clone(&view.cluster),
            machine_uid: owned.machine_uid.clone(),
        };
        if ownership != Some(expected) {
            return Verdict::Kept(Kept::Foreign);
        }
        let origin = match self.origin(owned) {
            Ok(origin) => origin,
            Err(machine) => return Verdict::Kept(Kept::Machine(machine.clone())),
        };
        Verdict::Orphan(origin, self.standing(one, view, rules))
    }

    /// Where an orphan comes from; otherwise its Machine.
    fn origin(&self, owned: &Owned) -> Result<Origin, &ObjectKey> {
        let Instance { id, provider_id, .. } = &owned.instance;
        let named = [&**id, &**provider_id].into_iter().find_map(|name| self.by_name.get(name));
        if let Some(machine) = named {
            return Err(&machine.key);
        }
        if let Some(key) = self.undecodable.get(&owned.machine_uid) {
            return Err(key);
        }
        let Some(machine) = self.by_uid.get(&owned.machine_uid) else {
            return Ok(Origin::NoMachine(owned.machine_uid.clone()));
        };
        // The deletion of a Machine deletes all of its instances. Unless it has one that runs, of a later attempt, this
        // one may still become its instance.
        let this = owned.attempt.filter(|this| machine.attempt.is_some_and(|last| *this < last));
        let current = machine.names().find_map(|name| self.running.get_key_value(name));
        match (this, current) {
            (Some(this), Some((id, later))) if !machine.deleting && this < *later => {
                let current = Arc::from(*id);
                Ok(Origin::Duplicate { machine: machine.key.clone(), attempt: this, current })
            }
            _ => Err(&machine.key),
        }
    }

    fn standing(&self, one: Sighting<'_>, view: &View, rules: Rules) -> Standing {
        let Instance { id, provider_id, addresses, .. } = &one.owned.instance;
        let addresses = addresses.iter().map(|one| &*one.address);
        let mut names = [&**id, &**provider_id].into_iter().chain(addresses);
        if let Some(node) = names.find_map(|name| self.nodes.get(name)) {
            return Standing::HasNode(Arc::clone(node));
        }
        if let Some(doubt) = view.doubts.first() {
            return Standing::Blocked(doubt.clone());
        }
        if one.owned.attempt.is_none() {
            return Standing::Blocked(Doubt::NotLaunched);
        }
        let Some(since) = one.owned.created.or(one.first_seen) else {
            return Standing::Young(None);
        };
        // A launch in the future: another clock is wrong.
        let age = Duration::try_from(view.as_of.duration_since(since)).unwrap_or_default();
        match rules.grace.checked_sub(age) {
            Some(left) if !left.is_zero() => Standing::Young(Some(left)),
            _ if rules.seen_before && one.first_seen.is_none_or(|at| at >= view.as_of) => {
                Standing::SeenOnce
            }
            _ => Standing::Collectable,
        }
    }
}
