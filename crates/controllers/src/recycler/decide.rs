//! Decides what counts, which recycle begins, and the next step of every recycle in progress.
//!
//! Of the groups that nothing holds, the one with the most events comes first; where it cannot be recycled, the next
//! one is considered. A group is described before its recycle begins. At most one recycle begins per reconcile.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::Version;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::GroupRef;

use super::abandoned;
use super::detection::counting::{Located, Target};
use super::detection::spent::Spent;
use super::history;
use super::messages;
use super::plan::{Candidate, Counted, Finalizer, Hold, Plan};
use super::recycling::{self, Refusal, Request, group_of};
use super::settings::Settings;
use super::snapshot::{Facts, Snapshot, is_recycling};

/// From this many occurrences on, those that are ignored are stored as counted, so that they are not located again.
const MANY_NEWS: usize = 500;

pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let facts = match &snapshot.facts {
        Ok(facts) => facts,
        Err(refusal) => return Plan { refusal: Some(refusal.clone()), ..Plan::default() },
    };
    let steps = facts.recycles.iter().map(|recycle| recycling::decide(recycle, now)).collect();
    let mut plan = Plan { steps, ..Plan::default() };
    match &facts.settings {
        Err(refusal) => plan.refusal = Some(refusal.clone()),
        Ok(settings) => {
            let counted = count(facts, settings, now);
            if !snapshot.meta.deleting {
                choose(facts, settings, &counted, now, &mut plan);
                if !settings.dry_run {
                    resume(facts, now, &mut plan);
                    begin(snapshot, facts, settings, now, &mut plan);
                }
            }
            plan.counted = Some(counted);
        }
    }
    plan.finalizer = finalizer(snapshot, facts, &plan);
    plan
}

/// The object must stay while its status is needed to finish a recycle. A finalizer cannot be added during deletion.
fn finalizer(snapshot: &Snapshot, facts: &Facts, plan: &Plan) -> Option<Finalizer> {
    let has = facts.finalizers.iter().any(|name| name == FINALIZER_RECYCLER);
    let begins = plan.begin.is_some() || !plan.candidates.is_empty();
    match (begins || !facts.recycles.is_empty(), has) {
        (true, false) if !snapshot.meta.deleting => Some(Finalizer::Add),
        // A group that is about to be described may begin its recycle next.
        (false, true) if plan.describe.is_empty() => Some(Finalizer::Remove),
        _ => None,
    }
}

/// The mark moves only with the counts, so that nothing is written because Events of no concern arrive.
fn count(facts: &Facts, settings: &Settings, now: Timestamp) -> Counted {
    let is_new = facts.counting.mark == Version::default();
    let mut counting = facts.counting.clone();
    counting.open.clear();
    let spent = Spent::of(facts);
    let reopened = facts.reopened.iter().filter(|one| !spent.has(one));
    counting.take(reopened, settings, now);
    let news = facts.news.iter().filter(|one| !(is_new && spent.has_minute_of(one)));
    counting.take(news, settings, now);
    let changed = counting != facts.counting || facts.news.len() > MANY_NEWS || is_new;
    // After a restore from a backup, the mark is ahead of the cluster.
    if changed || facts.position < counting.mark {
        counting.mark = facts.position;
    }
    let counts = counting.counts(settings, now);
    Counted { counting, counts, example: example(facts) }
}

fn example(facts: &Facts) -> Option<String> {
    let open = facts.news.iter().chain(&facts.reopened).filter_map(|news| match &news.target {
        Target::Unresolved(why) => Some((news, why)),
        Target::Group(_) | Target::Ignored => None,
    });
    let newest: Option<(&Located, &String)> = open.max_by_key(|(news, _)| news.occurrence.minute);
    newest.map(|(news, why)| messages::unmapped(&news.occurrence.involved, why))
}

fn choose(facts: &Facts, settings: &Settings, counted: &Counted, now: Timestamp, plan: &mut Plan) {
    let mut groups: Vec<_> =
        counted.counts.iter().filter(|(_, count)| **count >= settings.threshold).collect();
    groups.sort_by(|(one, few), (other, many)| {
        let names = || (&one.name, &one.region).cmp(&(&other.name, &other.region));
        many.cmp(few).then_with(names)
    });
    for (group, events) in groups {
        let candidate = Candidate { group: group.clone(), events: *events };
        match hold(facts, settings, group, now) {
            Some(hold) => plan.held.push((group.clone(), hold)),
            None if settings.dry_run => plan.pretend.push(candidate),
            None => plan.candidates.push(candidate),
        }
    }
}

fn hold(facts: &Facts, settings: &Settings, group: &GroupRef, now: Timestamp) -> Option<Hold> {
    if facts.recycles.iter().any(|one| group_of(&one.recycle) == *group) {
        return Some(Hold::Active);
    }
    let mut last = history::last(&facts.status, group, settings.dry_run);
    for (recycler, status) in &facts.others {
        if is_recycling(status, group) {
            return Some(Hold::Elsewhere(Arc::clone(recycler)));
        }
        last = last.max(history::last(status, group, false));
    }
    if let Some(at) = last {
        let until = at.saturating_add(settings.cool_down).unwrap_or(Timestamp::MAX);
        if until > now {
            return Some(Hold::CoolDown(until));
        }
    }
    if let Some(schedule) = settings.schedule.as_ref().filter(|it| !it.is_open(now)) {
        return Some(Hold::Schedule(schedule.opens(now)));
    }
    (facts.recycles.len() >= settings.max_concurrent).then_some(Hold::Concurrency)
}

fn resume(facts: &Facts, now: Timestamp, plan: &mut Plan) {
    for group in &facts.unchecked {
        match facts.groups.get(group).map(|view| &view.group) {
            None | Some(Observed::NotAsked) => plan.describe.push(group.clone()),
            Some(Observed::Unknown(failure)) => {
                plan.unreachable.push((group.clone(), failure.clone()));
            }
            Some(Observed::Absent) => {}
            Some(Observed::Present(found)) => {
                let mark = abandoned::left_at_zero(found);
                let mark = mark.filter(|mark| !facts.is_active(&mark.id));
                if let Some(mark) = mark.filter(|_| plan.begin.is_none()) {
                    plan.begin = Some(abandoned::resume(&mark, group, now));
                }
            }
        }
    }
}

/// Begins at most one recycle. Where one group of a region cannot be described, the others are not tried.
fn begin(snapshot: &Snapshot, facts: &Facts, settings: &Settings, now: Timestamp, plan: &mut Plan) {
    let is_active = |id: &str| facts.is_active(id);
    let mut unreachable = BTreeSet::new();
    for candidate in &plan.candidates {
        let group = &candidate.group;
        if plan.begin.is_some() {
            return;
        }
        if unreachable.contains(&group.region) {
            continue;
        }
        let view = facts.groups.get(group);
        let refusal = match view.map(|view| (&view.group, &view.nodes)) {
            None | Some((Observed::NotAsked, _)) => {
                plan.describe.push(group.clone());
                continue;
            }
            Some((Observed::Absent, _)) => Refusal::NotFound,
            Some((Observed::Unknown(failure), _)) => {
                unreachable.insert(Arc::clone(&group.region));
                Refusal::Unreachable(failure.clone())
            }
            // A group with more events is not described yet.
            Some((Observed::Present(_), _)) if !plan.describe.is_empty() => continue,
            Some((Observed::Present(found), nodes)) => {
                let request = Request {
                    group: group.clone(),
                    requested_by: snapshot.meta.uid.clone(),
                    strategy: settings.strategy,
                    events: i64::try_from(candidate.events).unwrap_or(i64::MAX),
                };
                let own_node = facts.own_node.as_deref();
                match recycling::begin(&request, found, nodes, own_node, is_active, now) {
                    Ok(recycle) => {
                        plan.begin = Some(recycle);
                        continue;
                    }
                    Err(refusal) => refusal,
                }
            }
        };
        plan.blocked.push((group.clone(), refusal));
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
