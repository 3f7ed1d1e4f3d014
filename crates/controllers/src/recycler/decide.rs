//! From what is known of an EventRecycler to what is done: what counts, which group is recycled next, and the next step of those that are.
//!
//! A recycle begins only for a group that has too many events, is recycled by nobody, was not recycled for as long as the cool-down says, while fewer are
//! under way than may be, and at a time that the schedule allows. Of several groups the one with most events is first; where it is refused, it is the
//! next one's turn. One begins in a pass.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::Version;
use machinist_provider::node_groups::GroupRef;

use super::detection::counting::{Leads, News};
use super::detection::spent::Spent;
use super::history::{self, Past};
use super::plan::{Begin, Counted, Finalizer, Hold, Plan};
use super::recycling::{self, group_of};
use super::settings::Settings;
use super::snapshot::{Content, Deed, Facts, Snapshot};

/// From so many on, what leads nowhere is stored as counted, so that it is not looked at again and again.
const MANY_NEWS: usize = 500;

/// Decides.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let nothing = Plan {
        refusal: None,
        counted: None,
        steps: Vec::new(),
        finalizer: None,
        begin: Vec::new(),
        recover: Vec::new(),
        pretend: Vec::new(),
        held: Vec::new(),
    };
    let facts = match &snapshot.content {
        Content::Undecodable(why) => {
            let refusal = Some(super::error::Refusal::Undecodable(why.clone()));
            return Plan { refusal, ..nothing };
        }
        Content::Read(facts) => facts,
    };
    let steps = facts.recycles.iter().map(|recycle| recycling::decide(recycle, now)).collect();
    let mut plan = Plan { steps, ..nothing };
    match &facts.settings {
        Err(refusal) => plan.refusal = Some(refusal.clone()),
        Ok(settings) => {
            let counted = count(facts, settings, now);
            if !snapshot.meta.deleting {
                choose(facts, settings, &counted, now, &mut plan);
                plan.recover = if settings.dry_run { Vec::new() } else { facts.unseen.clone() };
            }
            plan.counted = Some(counted);
        }
    }
    plan.finalizer = finalizer(snapshot, facts, &plan);
    plan
}

/// An object that recycles something must not go: what its status says is needed to end it. Nobody can put a finalizer on what is going already.
fn finalizer(snapshot: &Snapshot, facts: &Facts, plan: &Plan) -> Option<Finalizer> {
    let has = facts.finalizers.iter().any(|name| name == FINALIZER_RECYCLER);
    let needs = !plan.begin.is_empty() || !facts.recycles.is_empty();
    match (needs, has) {
        (true, false) if !snapshot.meta.deleting => Some(Finalizer::Add),
        (false, true) => Some(Finalizer::Remove),
        _ => None,
    }
}

/// Counts what has happened since the mark. The mark moves with the counts, and only with them: nothing is stored because time passes elsewhere.
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
    // Where the cluster was restored from a backup, the mark lies in its future.
    if changed || facts.position < counting.mark {
        counting.mark = facts.position;
    }
    let counts = counting.counts(settings, now);
    Counted { counting, counts, example: example(facts) }
}

fn example(facts: &Facts) -> Option<String> {
    let open = facts.news.iter().chain(&facts.reopened).filter_map(|news| match &news.leads {
        Leads::Open(why) => Some((news, why)),
        Leads::To(_) | Leads::Nowhere => None,
    });
    let newest: Option<(&News, &String)> = open.max_by_key(|(news, _)| news.occurrence.minute);
    newest.map(|(news, why)| format!("{}: {why}", news.occurrence.told()))
}

/// Chooses the groups that may be recycled next.
fn choose(facts: &Facts, settings: &Settings, counted: &Counted, now: Timestamp, plan: &mut Plan) {
    let mut groups: Vec<_> =
        counted.counts.iter().filter(|(_, count)| **count >= settings.threshold).collect();
    groups.sort_by(|(one, few), (other, many)| {
        let names = || (&one.name, &one.region).cmp(&(&other.name, &other.region));
        many.cmp(few).then_with(names)
    });
    for (group, events) in groups {
        let begin = Begin { group: group.clone(), events: *events };
        match hold(facts, settings, group, now) {
            Some(hold) => plan.held.push((group.clone(), hold)),
            None if settings.dry_run => plan.pretend.push(begin),
            None => plan.begin.push(begin),
        }
    }
}

fn hold(facts: &Facts, settings: &Settings, group: &GroupRef, now: Timestamp) -> Option<Hold> {
    if facts.recycles.iter().any(|one| group_of(&one.recycle) == *group) {
        return Some(Hold::Active);
    }
    let elsewhere = facts.elsewhere.iter().filter(|one| one.is_about(group));
    let mut last = history::last(&facts.status, group, settings.dry_run);
    for one in elsewhere {
        match &one.what {
            Deed::Recycles(_) => return Some(Hold::Elsewhere(Arc::clone(&one.recycler))),
            Deed::Recycled(at) => last = last.max(Some(Past(*at))),
        }
    }
    if let Some(Past(at)) = last {
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

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
