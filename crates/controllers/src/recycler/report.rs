//! What a pass over an EventRecycler has to say: its status, Events, and when to come back.
//!
//! Counts and mark are stored together, in one write that names the version which they were made from. Where nothing but counts has changed they
//! are stored every other second at most: what is not stored yet is in memory, and after a crash the events tell it again. Where nothing has
//! changed nothing is written, and where nothing is waited for nobody comes back.

mod status;

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::names::CONDITION_RECYCLING;
use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::{Classified as _, Failure, Retry};
use machinist_provider::node_groups::GroupRef;

use self::status::{Draft, Recycling};
use super::leftovers;
use super::naming::Names;
use super::plan::{Begun, Hold, Outcome, Plan};
use super::recycling::{self, Sight, Told, group_of};
use super::settings::Settings;
use super::snapshot::{Content, Facts, Snapshot};

/// What stands between two things that the condition says.
const BETWEEN: &str = "; ";

/// Reports.
pub fn report(snapshot: &Snapshot, outcome: &Outcome, now: Timestamp) -> Report {
    let Content::Read(facts) = &snapshot.content else { return unreadable(&outcome.plan) };
    if let Some(finalizer) = &outcome.finalizer {
        return of_finalizer(facts, finalizer);
    }
    let names = names(facts, &outcome.plan);
    let teller = Teller { snapshot, facts, plan: &outcome.plan, names, now };
    let mut told = teller.steps(outcome);
    let begun = teller.recovered(&outcome.recovered, &mut told);
    let begun = begun.or_else(|| teller.begun(&outcome.begun, &mut told));
    let mut draft = Draft::of(facts, now);
    draft.recycles(&told.recycles, begun.as_ref(), &teller.names);
    teller.pretend(&mut draft, &mut told);
    if let Some(counted) = &outcome.plan.counted {
        draft.counted(counted, told.recycles.iter().chain(&begun), &teller.names);
    }
    draft.conditions(outcome.plan.refusal.as_ref(), &teller.recycling(&told, begun.as_ref()));
    let refused = outcome.plan.refusal.as_ref();
    if let Some(refusal) = refused {
        told.events.push(warning(EventReason::FailedValidate, refusal.to_string()));
        told.comes_back(refusal.retry());
    }
    let (status, later) = draft.patch();
    if let Some(wait) = later {
        told.comes_back(Retry::Again(wait));
    }
    if facts.ahead {
        told.comes_back(Retry::Again(facts.timings.incomplete_list));
    }
    if let Some(pause) = teller.next_look() {
        told.comes_back(Retry::Again(pause));
    }
    let result = match (&status, refused, told.failed) {
        (_, Some(_), _) => PassResult::Refused,
        (_, _, true) => PassResult::Failed,
        (Some(_), ..) => PassResult::Changed,
        (None, ..) if facts.recycles.is_empty() => PassResult::Settled,
        (None, ..) => PassResult::Waiting,
    };
    Report { result, status, events: told.events, retry: told.retry }
}

/// An object that cannot be decoded has no status that could be compared, so only an Event tells.
fn unreadable(plan: &Plan) -> Report {
    let events = plan.refusal.iter();
    let events = events.map(|refusal| warning(EventReason::FailedValidate, refusal.to_string()));
    Report {
        events: events.collect(),
        retry: Some(Retry::OnChange),
        ..Report::quiet(PassResult::Refused)
    }
}

/// A finalizer is all that is done in its pass; what it was put on for follows at once.
fn of_finalizer(facts: &Facts, written: &Result<bool, Failure>) -> Report {
    match written {
        Ok(true) => Report {
            retry: Some(Retry::Again(Duration::ZERO)),
            ..Report::quiet(PassResult::Changed)
        },
        // In a dry run it is looked at again when something has changed, and now and then.
        Ok(false) => {
            let pause = facts.watch_interval().map(Retry::Again);
            Report { retry: pause, ..Report::quiet(PassResult::Settled) }
        }
        // Nothing else of this pass gets onto the object.
        Err(failure) => {
            let text = format!("the finalizer could not be written: {}", failure.message);
            let told = failure.category.is_for_people();
            Report {
                events: told
                    .then(|| warning(EventReason::ReconcileError, text))
                    .into_iter()
                    .collect(),
                retry: Some(failure.retry),
                ..Report::quiet(PassResult::Failed)
            }
        }
    }
}

/// What there is to tell, as it is gathered.
#[derive(Default)]
struct Gathered {
    recycles: Vec<Recycle>,
    events: Vec<EventNote>,
    /// What is in the way of recycles.
    trouble: Vec<String>,
    retry: Option<Retry>,
    failed: bool,
}

impl Gathered {
    /// Comes back then, or earlier.
    fn comes_back(&mut self, retry: Retry) {
        self.retry = Some(match self.retry.take() {
            None => retry,
            Some(other) => sooner(other, retry),
        });
    }
}

struct Teller<'a> {
    snapshot: &'a Snapshot,
    facts: &'a Facts,
    plan: &'a Plan,
    names: Names,
    now: Timestamp,
}

/// How the groups are called that there is anything to say about.
fn names(facts: &Facts, plan: &Plan) -> Names {
    let recycled: Vec<_> = facts.recycles.iter().map(|one| group_of(&one.recycle)).collect();
    let counted = plan.counted.iter().flat_map(|counted| counted.counts.keys());
    Names::among(counted.chain(&recycled))
}

impl Teller<'_> {
    fn settings(&self) -> Option<&Settings> {
        self.facts.settings.as_deref().ok()
    }

    /// What came of the next step of every recycle.
    fn steps(&self, outcome: &Outcome) -> Gathered {
        let mut gathered = Gathered::default();
        let steps = self.plan.steps.iter().zip(&outcome.steps);
        for (recycle, (plan, outcome)) in self.facts.recycles.iter().zip(steps) {
            gathered.failed |= matches!(outcome, recycling::Outcome::Failed(_));
            let Told { recycle, events, trouble, retry } =
                recycling::report(recycle, plan, outcome, self.now);
            gathered.events.extend(events);
            let name = self.names.of(&group_of(&recycle));
            gathered.trouble.extend(trouble.map(|trouble| format!("{name}: {trouble}")));
            gathered.recycles.push(recycle);
            if let Some(retry) = retry {
                gathered.comes_back(retry);
            }
        }
        gathered
    }

    /// The recycle of a group that was left at zero, if there is one.
    fn recovered(&self, seen: &[(GroupRef, Sight)], gathered: &mut Gathered) -> Option<Recycle> {
        let mut found = None;
        for (group, sight) in seen {
            let name = self.names.of(group);
            match sight {
                Sight::There(there) => {
                    let mark = leftovers::left_at_zero(there);
                    let Some(mark) = mark.filter(|mark| !self.facts.is_active(&mark.id)) else {
                        continue;
                    };
                    // The others are looked at again when it is stored.
                    gathered.comes_back(Retry::Again(Duration::ZERO));
                    if found.is_none() {
                        let text = format!("{name} was left at zero: its recycle goes on");
                        gathered.events.push(normal(EventReason::RecycleBegins, text));
                        found = Some(leftovers::go_on(&mark, group, self.now));
                    }
                }
                Sight::Gone => {}
                Sight::Unknown(failure) => {
                    gathered.trouble.push(format!("{name}: {}", failure.message));
                    gathered.comes_back(failure.retry);
                }
            }
        }
        found
    }

    /// The recycle that begins, if one does: of the first group that is not refused.
    fn begun(&self, seen: &[Begun], gathered: &mut Gathered) -> Option<Recycle> {
        seen.iter().find_map(|begun| {
            let name = self.names.of(&begun.begin.group);
            match self.begin(begun) {
                Ok(recycle) => {
                    let events = begun.begin.events;
                    let text = format!("{name} has had {events} events that count: it is recycled");
                    gathered.events.push(normal(EventReason::RecycleBegins, text));
                    gathered.comes_back(Retry::Again(Duration::ZERO));
                    Some(recycle)
                }
                Err((why, retry)) => {
                    let text = format!("{name} is not recycled: {why}");
                    if !self.is_said(&text) {
                        gathered.events.push(warning(EventReason::RecycleRefused, text.clone()));
                    }
                    gathered.trouble.push(text);
                    gathered.comes_back(retry);
                    None
                }
            }
        })
    }

    /// The recycle of a group, or why there is none, and when to look again.
    fn begin(&self, begun: &Begun) -> Result<Recycle, (String, Retry)> {
        let Begun { begin, sight, nodes, own_node } = begun;
        let settings = self.facts.settings.as_ref();
        let settings = settings.map_err(|refusal| (refusal.to_string(), refusal.retry()))?;
        let again = Retry::Again(self.facts.watch_interval().unwrap_or_default());
        let there = match sight {
            Sight::There(there) => there,
            Sight::Gone => return Err(("there is no such group".to_owned(), again)),
            Sight::Unknown(failure) => return Err((failure.message.clone(), failure.retry)),
        };
        let request = begin.request(&self.snapshot.meta.uid, settings);
        let is_active = |id: &str| self.facts.is_active(id);
        recycling::begin(&request, there, nodes, own_node.as_deref(), is_active, self.now)
            .map_err(|refusal| (refusal.to_string(), again))
    }

    /// Whether the condition says this already: a reason is told by an Event once, however often the group is looked at.
    fn is_said(&self, text: &str) -> bool {
        let mut conditions = self.facts.status.conditions.iter().flatten();
        let said = conditions.find(|condition| condition.kind == CONDITION_RECYCLING);
        let said = said.and_then(|condition| condition.message.as_deref());
        let whole = |text: &str| format!("{BETWEEN}{text}{BETWEEN}");
        said.is_some_and(|said| whole(said).contains(&whole(text)))
    }

    fn pretend(&self, draft: &mut Draft<'_>, gathered: &mut Gathered) {
        for begin in &self.plan.pretend {
            let (name, events) = (self.names.of(&begin.group), begin.events);
            let text = format!("{name} has had {events} events that count: it would be recycled");
            gathered.events.push(normal(EventReason::WouldRecycle, text));
            draft.pretended(begin);
        }
    }

    /// Whether anything is recycled, and if not, why.
    fn recycling(&self, gathered: &Gathered, begun: Option<&Recycle>) -> Recycling {
        let active = gathered.recycles.iter().filter(|one| !one.step.is_over()).chain(begun);
        let groups: Vec<_> = active.map(|one| self.names.of(&group_of(one))).collect();
        if !groups.is_empty() {
            let mut said = vec![groups.join(", ")];
            said.extend(gathered.trouble.iter().cloned());
            return Recycling::Yes(said.join(BETWEEN));
        }
        if !gathered.trouble.is_empty() {
            return Recycling::No("Refused", gathered.trouble.join(BETWEEN));
        }
        if let Some(group) = self.pretended() {
            return Recycling::No("DryRun", format!("{group} would be recycled"));
        }
        match self.plan.held.first() {
            Some((group, hold)) => {
                Recycling::No(word(hold), format!("{}: {hold}", self.names.of(group)))
            }
            None => Recycling::No("Idle", String::new()),
        }
    }

    /// A group that would be recycled, now or since a moment ago, if this were no dry run.
    fn pretended(&self) -> Option<String> {
        let now = self.plan.pretend.iter().map(|begin| &begin.group);
        let cools = |held: &&(GroupRef, Hold)| matches!(held.1, Hold::CoolDown(_));
        let before = self.plan.held.iter().filter(cools).map(|(group, _)| group);
        let dry_run = self.settings().is_some_and(|settings| settings.dry_run);
        now.chain(before).map(|group| self.names.of(group)).min().filter(|_| dry_run)
    }

    /// When time alone may change something.
    fn next_look(&self) -> Option<Duration> {
        let counted = self.plan.counted.as_ref()?;
        let waits = !counted.counts.is_empty() || !counted.counting.open.is_empty();
        self.facts.watch_interval().filter(|_| waits)
    }
}

fn word(hold: &Hold) -> &'static str {
    match hold {
        Hold::Active => "Active",
        Hold::Elsewhere(_) => "Elsewhere",
        Hold::CoolDown(_) => "CoolDown",
        Hold::Concurrency => "Concurrency",
        Hold::Schedule(_) => "Schedule",
    }
}

/// The sooner of two. Where one is a failure and the other is not, the failure does not keep the other waiting for longer than it wants.
fn sooner(one: Retry, other: Retry) -> Retry {
    match (one, other) {
        (Retry::OnChange, it) | (it, Retry::OnChange) => it,
        (Retry::Soon, _) | (_, Retry::Soon) => Retry::Soon,
        (Retry::Again(one), Retry::Again(other)) => Retry::Again(one.min(other)),
        (Retry::Again(again), Retry::After(after)) | (Retry::After(after), Retry::Again(again)) => {
            Retry::Again(again.min(after))
        }
        (Retry::Again(again), Retry::Backoff) | (Retry::Backoff, Retry::Again(again)) => {
            Retry::Again(again)
        }
        (Retry::After(one), Retry::After(other)) => Retry::After(one.min(other)),
        (Retry::Backoff, Retry::After(after)) | (Retry::After(after), Retry::Backoff) => {
            Retry::After(after)
        }
        (Retry::Backoff, Retry::Backoff) => Retry::Backoff,
    }
}

fn warning(reason: EventReason, text: String) -> EventNote {
    note(EventType::Warning, reason, text)
}

fn normal(reason: EventReason, text: String) -> EventNote {
    note(EventType::Normal, reason, text)
}

fn note(event_type: EventType, reason: EventReason, note: String) -> EventNote {
    EventNote { event_type, reason, action: "Recycle", note }
}

#[cfg(test)]
mod tests;
