//! Model test with late watches, lost answers, crashes between any two writes, users who scale and delete, orphans of
//! an earlier set and name collisions: never more Machines than were desired, and in the end exactly those. The model
//! assumes what the runtime guarantees and no more: own writes are in the cache at once, a key with a lost answer is
//! read live, a write with a resourceVersion fails on a conflict, a new process lists everything first.

use std::collections::{BTreeMap, BTreeSet};

use machinist_domain::key::Uid;
use proptest::prelude::*;
use serde_json::json;

use super::super::ordinals::{self, Window};
use super::super::samples::{machine, member, now, set, snapshot, view};
use super::*;

#[derive(Debug, Clone, Copy)]
enum Event {
    Scale(i32),
    Delete(usize),
    Finish(usize),
    /// Another user takes the next name.
    Squat,
    SeeSet,
    /// The watch catches up with some.
    SeeMachines(u8),
    /// The time is over for which refused orphans are skipped.
    RetryClaims,
    Restart,
    /// The fates are those of its writes.
    Reconcile([Fate; 4]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fine,
    AnswerLost,
    Refused,
    DiesBefore,
    DiesAfter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Set,
    None,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Child {
    uid: u64,
    deleting: bool,
    owner: Owner,
}

impl Child {
    /// Whether it runs for the set, or would if it were adopted.
    fn runs(&self) -> bool {
        self.owner != Owner::Other && !self.deleting
    }
}

/// Children from here on are orphans of an earlier set, whose names have no ordinals of this one.
const ORPHANS: u64 = 1_000_000;

fn name(child: u64) -> String {
    match child.checked_sub(ORPHANS) {
        Some(orphan) => format!("old-{orphan}"),
        None => ordinals::name("set", &Uid("set-uid".into()), child),
    }
}

fn child(name: &str) -> u64 {
    match name.strip_prefix("old-") {
        Some(orphan) => ORPHANS + orphan.parse::<u64>().unwrap(),
        None => ordinals::ordinal("set", &Uid("set-uid".into()), name).unwrap(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parent {
    version: u64,
    replicas: i32,
    window: Window,
}

#[derive(Debug, Clone)]
struct Cache {
    parent: Parent,
    children: BTreeMap<u64, Child>,
    parent_uncertain: bool,
    uncertain: BTreeSet<u64>,
    /// Orphans whose adoption was refused.
    refused: BTreeSet<u64>,
}

#[derive(Debug)]
struct World {
    parent: Parent,
    children: BTreeMap<u64, Child>,
    next_uid: u64,
    cache: Cache,
    most_desired: usize,
    deleted_by_us: usize,
}

struct Died;

impl World {
    fn new(replicas: usize, orphans: u64) -> Self {
        let desired = i32::try_from(replicas).unwrap();
        let parent = Parent { version: 1, replicas: desired, window: Window::default() };
        let orphan =
            |n| (ORPHANS + n, Child { uid: ORPHANS + n, deleting: false, owner: Owner::None });
        let children: BTreeMap<_, _> = (0..orphans).map(orphan).collect();
        let cache = Cache {
            parent,
            children: children.clone(),
            parent_uncertain: false,
            uncertain: BTreeSet::new(),
            refused: BTreeSet::new(),
        };
        let most_desired = replicas.max(children.len());
        Self { parent, children, next_uid: 0, cache, most_desired, deleted_by_us: 0 }
    }

    fn alive(&self) -> usize {
        self.children.values().filter(|child| child.runs()).count()
    }

    fn happen(&mut self, event: Event) {
        let pick = |world: &Self, deleting: bool, n: usize| {
            let of = |child: &Child| child.owner != Owner::Other && child.deleting == deleting;
            let keys: Vec<_> =
                world.children.iter().filter(|(_, child)| of(child)).map(|(key, _)| *key).collect();
            keys.get(n % keys.len().max(1)).copied()
        };
        match event {
            Event::Scale(replicas) => {
                self.parent = Parent { version: self.parent.version + 1, replicas, ..self.parent };
                self.most_desired = self.most_desired.max(usize::try_from(replicas).unwrap());
            }
            Event::Delete(n) => {
                if let Some(child) =
                    pick(self, false, n).and_then(|key| self.children.get_mut(&key))
                {
                    child.deleting = true;
                }
            }
            Event::Finish(n) => {
                pick(self, true, n).and_then(|key| self.children.remove(&key));
            }
            Event::Squat => {
                let ordinal = self.parent.window.ordinals().end;
                let child = Child { uid: self.fresh(), deleting: false, owner: Owner::Other };
                self.children.entry(ordinal).or_insert(child);
            }
            Event::SeeSet => self.see_parent(),
            Event::SeeMachines(mask) => {
                let orphans = self.cache.children.range(ORPHANS..).map(|(child, _)| *child);
                let orphans: Vec<_> = orphans.collect();
                for child in (0..=self.parent.window.ordinals().end).chain(orphans) {
                    if mask & (1 << (child % 8)) != 0 {
                        self.see(child);
                    }
                }
            }
            Event::RetryClaims => self.cache.refused.clear(),
            Event::Restart => self.restart(),
            Event::Reconcile(fates) => {
                if self.reconcile(fates).is_err() {
                    self.restart();
                }
            }
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next_uid += 1;
        self.next_uid
    }

    fn see_parent(&mut self) {
        self.cache.parent = self.parent;
        self.cache.parent_uncertain = false;
    }

    fn see(&mut self, ordinal: u64) {
        match self.children.get(&ordinal) {
            Some(child) => drop(self.cache.children.insert(ordinal, *child)),
            None => drop(self.cache.children.remove(&ordinal)),
        }
        self.cache.uncertain.remove(&ordinal);
    }

    fn restart(&mut self) {
        self.cache = Cache {
            parent: self.parent,
            children: self.children.clone(),
            parent_uncertain: false,
            uncertain: BTreeSet::new(),
            refused: BTreeSet::new(),
        };
    }

    fn observe(&mut self) -> Snapshot {
        if self.cache.parent_uncertain {
            self.see_parent();
        }
        for ordinal in self.cache.uncertain.clone() {
            self.see(ordinal);
        }
        let Cache { parent, children, refused, .. } = &self.cache;
        let mut set = set();
        set["spec"]["replicas"] = json!(parent.replicas);
        set["metadata"]["annotations"] =
            json!({"machinist.dev/ordinals": parent.window.to_string()});
        let owned_by = |owner| {
            let owned = children.iter().filter(move |(_, child)| child.owner == owner);
            owned.map(|(at, child)| (*at, *child))
        };
        let running = |owner| {
            let running = owned_by(owner).filter(|(_, child)| !child.deleting);
            running.map(|(at, child)| {
                (at, machine(&name(at), &json!({"metadata": {"uid": child.uid.to_string()}})))
            })
        };
        let mut view = view(&set, running(Owner::Set).map(|(_, own)| member(own)).collect());
        let (skipped, orphans): (Vec<_>, Vec<_>) =
            running(Owner::None).partition(|(at, _)| refused.contains(at));
        view.refused_orphans = skipped.len();
        view.orphans = orphans.into_iter().map(|(_, orphan)| orphan).collect();
        let open = parent.window.ordinals().filter(|ordinal| !children.contains_key(ordinal));
        view.open_ordinals = open.collect();
        let ordinals = owned_by(Owner::Set).map(|(at, _)| at).filter(|at| *at < ORPHANS);
        view.highest_ordinal = ordinals.max();
        snapshot(view)
    }

    fn reconcile(&mut self, fates: [Fate; 4]) -> Result<bool, Died> {
        let mut fates = fates.into_iter().cycle();
        let mut fate = || fates.next().unwrap_or(Fate::Fine);
        match decide(&self.observe(), now()) {
            Plan::NoOp(_) => return Ok(true),
            Plan::MoveWindow { to } => self.move_window(to, fate())?,
            Plan::Create(ordinals) => {
                for ordinal in ordinals {
                    if !self.create(ordinal, fate())? {
                        break;
                    }
                }
            }
            Plan::Claim { adopt, release: _ } => {
                for machine in adopt {
                    if !self.adopt(child(&machine.meta.key.name), fate())? {
                        break;
                    }
                }
            }
            Plan::Delete(machines) => {
                let before = self.cache.parent.replicas;
                self.see_parent();
                if self.cache.parent.replicas != before {
                    return Ok(false);
                }
                for machine in machines {
                    let uid: u64 = machine.meta.uid.0.parse().unwrap();
                    if !self.delete(child(&machine.meta.key.name), uid, fate())? {
                        break;
                    }
                }
            }
            plan => panic!("unexpected plan: {plan}"),
        }
        Ok(false)
    }

    fn move_window(&mut self, to: Window, fate: Fate) -> Result<(), Died> {
        match fate {
            Fate::DiesBefore => return Err(Died),
            Fate::Refused => return Ok(()),
            Fate::Fine | Fate::AnswerLost | Fate::DiesAfter => {}
        }
        let conflict = self.cache.parent.version != self.parent.version;
        if !conflict {
            assert!(to.ordinals().end >= self.parent.window.ordinals().end, "windows only grow");
            let version = self.parent.version + 1;
            self.parent = Parent { version, window: to, ..self.parent };
        }
        match fate {
            Fate::DiesAfter => return Err(Died),
            Fate::Fine if !conflict => self.see_parent(),
            _ => self.cache.parent_uncertain = true,
        }
        Ok(())
    }

    /// Returns whether to go on.
    fn create(&mut self, ordinal: u64, fate: Fate) -> Result<bool, Died> {
        match fate {
            Fate::DiesBefore => return Err(Died),
            Fate::Refused => return Ok(false),
            Fate::Fine | Fate::AnswerLost | Fate::DiesAfter => {}
        }
        assert!(
            self.parent.window.ordinals().contains(&ordinal),
            "ordinal {ordinal} is not reserved"
        );
        let uid = self.fresh();
        let new = Child { uid, deleting: false, owner: Owner::Set };
        self.children.entry(ordinal).or_insert(new);
        self.check();
        match fate {
            Fate::DiesAfter => return Err(Died),
            Fate::AnswerLost => drop(self.cache.uncertain.insert(ordinal)),
            _ => self.see(ordinal),
        }
        Ok(fate == Fate::Fine)
    }

    /// Returns whether to go on.
    fn adopt(&mut self, at: u64, fate: Fate) -> Result<bool, Died> {
        match fate {
            Fate::DiesBefore => return Err(Died),
            Fate::Refused => {
                self.cache.refused.insert(at);
                return Ok(false);
            }
            Fate::Fine | Fate::AnswerLost | Fate::DiesAfter => {}
        }
        let conflict = self.cache.children.get(&at) != self.children.get(&at);
        if let Some(child) = self.children.get_mut(&at).filter(|_| !conflict) {
            child.owner = Owner::Set;
        }
        match fate {
            Fate::DiesAfter => return Err(Died),
            Fate::Fine if !conflict => self.see(at),
            _ => drop(self.cache.uncertain.insert(at)),
        }
        Ok(fate == Fate::Fine && !conflict)
    }

    fn delete(&mut self, ordinal: u64, uid: u64, fate: Fate) -> Result<bool, Died> {
        match fate {
            Fate::DiesBefore => return Err(Died),
            Fate::Refused => return Ok(false),
            Fate::Fine | Fate::AnswerLost | Fate::DiesAfter => {}
        }
        if let Some(child) = self.children.get_mut(&ordinal).filter(|child| child.uid == uid) {
            self.deleted_by_us += usize::from(!child.deleting);
            child.deleting = true;
        }
        let unseen = self.cache.children.iter().filter(|(ordinal, seen)| {
            let really = self.children.get(ordinal).filter(|child| child.uid == seen.uid);
            seen.runs() && really.is_none_or(|child| child.deleting)
        });
        let wanted = usize::try_from(self.parent.replicas).unwrap();
        assert!(self.alive() + unseen.count() >= wanted, "deleted too many");
        match fate {
            Fate::DiesAfter => return Err(Died),
            Fate::AnswerLost => drop(self.cache.uncertain.insert(ordinal)),
            _ => self.see(ordinal),
        }
        Ok(fate == Fate::Fine)
    }

    fn check(&self) {
        let most = self.most_desired;
        assert!(
            self.alive() <= most,
            "{} Machines, but never more than {most} desired",
            self.alive()
        );
    }

    /// Without faults; returns the number of Machines.
    fn settle(&mut self) -> usize {
        for _ in 0..200 {
            self.restart();
            self.children.retain(|_, child| !child.deleting);
            self.restart();
            if matches!(self.reconcile([Fate::Fine; 4]), Ok(true)) {
                return self.alive();
            }
        }
        panic!("it never settles: {self:?}");
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Fine),
        1 => Just(Fate::AnswerLost),
        1 => Just(Fate::Refused),
        1 => Just(Fate::DiesBefore),
        1 => Just(Fate::DiesAfter),
    ]
}

fn disturbance() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => [fate(), fate(), fate(), fate()].prop_map(Event::Reconcile),
        2 => any::<usize>().prop_map(Event::Delete),
        2 => any::<usize>().prop_map(Event::Finish),
        1 => Just(Event::Squat),
        2 => Just(Event::SeeSet),
        3 => any::<u8>().prop_map(Event::SeeMachines),
        1 => Just(Event::RetryClaims),
        1 => Just(Event::Restart),
    ]
}

fn anything() -> impl Strategy<Value = Event> {
    prop_oneof![9 => disturbance(), 1 => (0..12).prop_map(Event::Scale)]
}

fn many(event: impl Strategy<Value = Event>) -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(event, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reaches_the_desired_number_and_never_exceeds_it(
        replicas in 0..12_usize,
        orphans in 0..6_u64,
        events in many(anything()),
    ) {
        let mut world = World::new(replicas, orphans);
        for event in events {
            world.happen(event);
            world.check();
        }
        let wanted = usize::try_from(world.parent.replicas).unwrap();
        prop_assert_eq!(world.settle(), wanted);
    }

    /// Without a scale-down nothing is deleted, so no Machine was ever one too many.
    #[test]
    fn deletes_nothing_without_a_scale_down(
        replicas in 0..12_usize,
        orphans in 0..6_usize,
        more in 0..6_usize,
        events in many(disturbance()),
    ) {
        let orphans = u64::try_from(orphans.min(replicas)).unwrap();
        let mut world = World::new(replicas, orphans);
        let half = events.len() / 2;
        for (at, event) in events.into_iter().enumerate() {
            if at == half {
                world.happen(Event::Scale(i32::try_from(replicas + more).unwrap()));
            }
            world.happen(event);
        }
        world.settle();
        prop_assert_eq!(world.deleted_by_us, 0);
    }
}
