//! The cloud of this model executes every call, some of them later. Every reconcile may be the last of a process: then
//! the effect has happened and nothing was stored. Sometimes only the mark on the group remains.

use machinist_domain::key::Uid;
use machinist_provider::node_groups::{
    GroupRef, InstanceId, Lifecycle, Member, Refresh, RefreshStatus, Sizes,
};
use proptest::prelude::{
    BoxedStrategy, Just, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::strategy::Strategy as _;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::super::begin::{Request, begin};
use super::super::samples::{group, member, node, now};
use super::super::snapshot::{Settings, Snapshot};
use super::*;
use crate::test_process::unanswered;

/// How late the cloud may execute a call.
const LATE_CALL: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Quiet,
    /// After the effect, before anything is stored.
    Dies,
    /// Its call is executed after so many reconciles of the next process, or after a minute.
    Late(u8),
    /// The status is lost; the mark on the group is left.
    Forgets,
    Slow,
    /// Not found once.
    Gone,
    Blind,
}

struct World {
    snapshot: Snapshot,
    made: u32,
    missing_most: u32,
    terminated: Vec<InstanceId>,
    late: Vec<Late>,
    refreshes: u32,
}

struct Late {
    call: Action,
    reconciles: u8,
    latest: Timestamp,
}

impl World {
    fn new(strategy: Strategy, size: usize, max_unavailable: u32) -> Self {
        let ids: Vec<_> = (0..size).map(|n| format!("i-{n}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        let group = group(&ids);
        let nodes = ids.iter().map(|id| (InstanceId::from(*id), node(id))).collect();
        let request = Request {
            group: GroupRef::new("r", "workers"),
            requested_by: Uid("u".into()),
            strategy,
            events: 1,
        };
        let recycle = begin(&request, &group, &nodes, None, |_| true, now()).unwrap();
        // Drains have a model of their own; what matters here is what is done to the group.
        let settings = Settings { drain: false, max_unavailable, ..Settings::default() };
        let snapshot = Snapshot {
            recycle,
            owner: "recycler/x".into(),
            settings,
            group: Observed::Present(Box::new(group)),
            nodes,
            drains: std::collections::BTreeMap::new(),
            own_node: None,
            cancelled: false,
        };
        Self {
            snapshot,
            made: 0,
            missing_most: 0,
            terminated: Vec::new(),
            late: Vec::new(),
            refreshes: 0,
        }
    }

    fn obey(&mut self, effect: &Action) {
        let group = self.snapshot.group_mut();
        match effect {
            Action::Change(GroupChange::Mark(text)) => group.mark = Some(text.clone()),
            Action::Change(GroupChange::Unmark) => group.mark = None,
            Action::Change(GroupChange::Resize { from, to }) if group.sizes == *from => {
                group.sizes = *to;
            }
            Action::Terminate(termination) => {
                let stays = |one: &&mut Member| !one.lifecycle.is_leaving();
                let mut members = group.members.iter_mut().filter(stays);
                let found = members.find(|one| one.id == termination.instance);
                if let Some(member) = found {
                    member.lifecycle = Lifecycle::Terminating;
                    self.terminated.push(termination.instance.clone());
                }
            }
            Action::Change(GroupChange::StartRefresh { .. })
                if !group.refresh.as_ref().is_some_and(|one| one.status.is_running()) =>
            {
                self.refreshes += 1;
                group.refresh = Some(Refresh {
                    id: format!("r-{}", self.refreshes).into(),
                    status: RefreshStatus::InProgress,
                    percentage: 0,
                    reason: None,
                });
            }
            Action::Change(GroupChange::CancelRefresh) => {
                if let Some(refresh) = &mut group.refresh {
                    refresh.status = RefreshStatus::Cancelled;
                }
            }
            _ => {}
        }
    }

    /// Calls that are late are executed, at the latest when they can be.
    fn land(&mut self, at: Timestamp) {
        for mut late in std::mem::take(&mut self.late) {
            if late.reconciles > 0 && at < late.latest {
                late.reconciles -= 1;
                self.late.push(late);
                continue;
            }
            if let Action::Change(GroupChange::Resize { from, .. }) = &mut late.call {
                // The cloud does not compare.
                *from = self.snapshot.group_mut().sizes;
            }
            self.obey(&late.call);
        }
    }

    fn get_on(&mut self) {
        let (made, nodes) = (&mut self.made, &mut self.snapshot.nodes);
        let Observed::Present(group) = &mut self.snapshot.group else { return };
        group.members.retain(|member| !member.lifecycle.is_leaving());
        nodes.retain(|id, _| group.members.iter().any(|member| member.id == *id));
        let mut launch = |members: &mut Vec<Member>| {
            *made += 1;
            let id = format!("i-new{made}");
            members.push(member(&id));
            nodes.insert(id.as_str().into(), node(&id));
        };
        if let Some(refresh) = group.refresh.as_mut().filter(|one| one.status.is_running()) {
            let old = |member: &Member| !member.id.0.starts_with("i-new");
            match group.members.iter().position(old) {
                Some(at) => {
                    group.members.remove(at);
                }
                None => refresh.status = RefreshStatus::Successful,
            }
        }
        let desired = group.sizes.desired as usize;
        group.members.truncate(desired);
        while group.members.len() < desired {
            launch(&mut group.members);
        }
    }

    fn count_missing(&mut self) {
        let Observed::Present(group) = &self.snapshot.group else { return };
        let stay = group.members.iter().filter(|one| !one.lifecycle.is_leaving()).count();
        let missing = group.sizes.desired.saturating_sub(u32::try_from(stay).unwrap());
        self.missing_most = self.missing_most.max(missing);
    }

    fn reconcile(&mut self, turn: Turn, at: Timestamp) {
        self.land(at);
        let before = self.snapshot.recycle.clone();
        match decide(&self.seen(turn), at).action {
            Action::Store(_) if matches!(turn, Turn::Dies | Turn::Late(_)) => {}
            Action::Store(recycle) => self.snapshot.recycle = *recycle,
            Action::Wait { .. } | Action::Over => {}
            effect => {
                if !matches!(effect, Action::Change(GroupChange::Mark(_))) && effect.changes_cloud()
                {
                    let Observed::Present(group) = &self.snapshot.group else { unreachable!() };
                    assert!(group.mark.is_some(), "{effect:?} before the plan was on the group");
                }
                if let Turn::Late(reconciles) = turn {
                    let latest = at + LATE_CALL;
                    self.late.push(Late { call: effect, reconciles, latest });
                } else {
                    self.obey(&effect);
                }
                assert_eq!(self.snapshot.recycle, before, "an effect stores nothing");
            }
        }
        self.count_missing();
        if turn == Turn::Forgets {
            self.forget(at);
        }
        if turn != Turn::Slow {
            self.get_on();
        }
    }

    fn seen(&self, turn: Turn) -> Snapshot {
        let mut seen = self.snapshot.clone();
        match turn {
            Turn::Gone => seen.group = Observed::Absent,
            Turn::Blind => seen.group = Observed::Unknown(unanswered()),
            Turn::Quiet | Turn::Dies | Turn::Late(_) | Turn::Forgets | Turn::Slow => {}
        }
        seen
    }

    fn forget(&mut self, at: Timestamp) {
        let Observed::Present(group) = &self.snapshot.group else { return };
        let mark = group.mark.as_deref().and_then(super::super::mark::Mark::read);
        if let Some(mark) = mark {
            self.snapshot.recycle = mark.resume("r", "workers", 1, at);
        }
    }
}

fn turn() -> BoxedStrategy<Turn> {
    prop_oneof![
        4 => Just(Turn::Quiet),
        2 => Just(Turn::Dies),
        1 => Just(Turn::Forgets),
        2 => Just(Turn::Slow),
        1 => Just(Turn::Gone),
        1 => Just(Turn::Blind),
        2 => (0..40_u8).prop_map(Turn::Late),
    ]
    .boxed()
}

#[derive(Debug, Clone)]
struct Story {
    strategy: Strategy,
    size: usize,
    max_unavailable: u32,
    turns: Vec<Turn>,
    /// Seconds between two reconciles.
    pace: u64,
    /// The reconcile from which on the EventRecycler is being deleted.
    cancelled: Option<usize>,
}

fn story() -> BoxedStrategy<Story> {
    let strategies = [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero];
    let parts = (
        prop::sample::select(strategies.to_vec()),
        1..6_usize,
        1..4_u32,
        prop::collection::vec(turn(), 0..60),
        prop_oneof![1..10_u64, 1..400_u64],
        prop::option::weighted(0.3, 0..60_usize),
    );
    let story = |(strategy, size, max_unavailable, turns, pace, cancelled)| Story {
        strategy,
        size,
        max_unavailable,
        turns,
        pace,
        cancelled,
    };
    parts.prop_map(story).boxed()
}

/// `waits` is how long late calls are waited for.
fn ends_well(story: &Story, waits: Duration) -> Result<(), TestCaseError> {
    let Story { strategy, size, max_unavailable, turns, pace, cancelled } = story;
    let mut world = World::new(*strategy, *size, *max_unavailable);
    world.snapshot.settings.late_call = waits;
    let original = wanted_sizes(&world);
    let mut at = now();
    let quiet = std::iter::repeat_n(Turn::Quiet, 500);
    let mut last = Turn::Quiet;
    for (number, turn) in turns.iter().copied().chain(quiet).enumerate() {
        // A group that is missing for long is gone; here it only seems so.
        let turn = if turn == Turn::Gone && last != Turn::Quiet { Turn::Quiet } else { turn };
        last = turn;
        at += Duration::from_secs(*pace);
        world.snapshot.cancelled |= cancelled.is_some_and(|from| number >= from);
        world.reconcile(turn, at);
    }
    prop_assert!(world.snapshot.recycle.step.is_over(), "{:?}", world.snapshot.recycle);
    let Observed::Present(group) = &world.snapshot.group else { unreachable!() };
    prop_assert_eq!(group.sizes, original);
    prop_assert_eq!(&group.mark, &None);
    let refreshes = group.refresh.as_ref().is_some_and(|one| one.status.is_running());
    prop_assert!(!refreshes, "a refresh is left");
    if *strategy == Strategy::Replace {
        prop_assert!(world.missing_most <= *max_unavailable);
        let mut once = world.terminated.clone();
        once.dedup();
        prop_assert_eq!(once.len(), world.terminated.len(), "terminated twice");
    }
    if world.snapshot.recycle.step == Step::Succeeded {
        let old = group.members.iter().filter(|one| !one.id.0.starts_with("i-new")).count();
        prop_assert_eq!(old, 0, "everything was replaced");
        let mut states = world.snapshot.recycle.instances.iter().map(|one| one.state);
        if *strategy == Strategy::Replace {
            prop_assert!(states.all(|state| state == InstanceState::Gone));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn it_ends_and_the_group_has_its_sizes(story in story()) {
        ends_well(&story, LATE_CALL)?;
    }
}

#[test]
fn the_model_finds_what_goes_wrong_if_late_calls_are_not_waited_for() {
    let config =
        Config { cases: 5000, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let dice = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, dice);
    let found = runner.run(&story(), |story| ends_well(&story, Duration::ZERO));
    assert!(found.is_err());
}

fn wanted_sizes(world: &World) -> Sizes {
    match &world.snapshot.group {
        Observed::Present(group) => group.sizes,
        _ => Sizes::ZERO,
    }
}
