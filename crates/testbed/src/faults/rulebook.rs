//! Rules are tried in the order in which they were added; one that still skips, or is used up, lets later rules have
//! their turn.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{ApiRequest, Effect, Rule};

#[derive(Debug)]
struct Entry {
    id: u64,
    rule: Rule,
    seen: u32,
    hits: watch::Sender<u32>,
}

#[derive(Debug, Default)]
struct Book {
    next_id: u64,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Rulebook(Arc<Mutex<Book>>);

impl Rulebook {
    pub(super) fn add(&self, rule: Rule) -> RuleHandle {
        let mut book = self.0.lock();
        let id = book.next_id;
        book.next_id += 1;
        let (hits, receiver) = watch::channel(0);
        book.entries.push(Entry { id, rule, seen: 0, hits });
        RuleHandle { id, book: self.clone(), hits: receiver }
    }

    pub(super) fn clear(&self) {
        self.0.lock().entries.clear();
    }

    /// Counts the request.
    pub(super) fn effect_for(&self, request: &ApiRequest) -> Option<Effect> {
        let mut book = self.0.lock();
        for entry in &mut book.entries {
            if !entry.rule.effect.can_touch(request) || !entry.rule.when.fits(request) {
                continue;
            }
            entry.seen = entry.seen.saturating_add(1);
            let hits = *entry.hits.borrow();
            let used_up = entry.rule.times.is_some_and(|times| hits >= times);
            if entry.seen > entry.rule.skip && !used_up {
                entry.hits.send_modify(|hits| *hits += 1);
                return Some(entry.rule.effect.clone());
            }
        }
        None
    }
}

#[derive(Debug)]
pub struct RuleHandle {
    id: u64,
    book: Rulebook,
    hits: watch::Receiver<u32>,
}

impl RuleHandle {
    pub fn hits(&self) -> u32 {
        *self.hits.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u32> {
        self.hits.clone()
    }

    /// `count` in all, also before this call.
    pub async fn hit(&self, count: u32, deadline: Duration) -> Result<()> {
        let mut hits = self.hits.clone();
        match tokio::time::timeout(deadline, hits.wait_for(|hits| *hits >= count)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(anyhow!("the rule was removed after {} hits", self.hits())),
            Err(_) => Err(anyhow!("{} of {count} hits within {deadline:?}", self.hits())),
        }
    }

    pub async fn struck(&self) {
        let mut hits = self.hits.clone();
        if hits.wait_for(|hits| *hits > 0).await.is_err() {
            // It was taken back, so it never will.
            std::future::pending::<()>().await;
        }
    }

    /// Requests that it has parked stay parked.
    pub fn remove(&self) {
        self.book.0.lock().entries.retain(|entry| entry.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Match, Verb};

    fn request(verb: Verb, name: &str) -> ApiRequest {
        ApiRequest {
            user_agent: "machinist-test/1".to_owned(),
            verb,
            group: String::new(),
            resource: "configmaps".to_owned(),
            subresource: None,
            namespace: Some("a".to_owned()),
            name: Some(name.to_owned()),
            path: String::new(),
            body: bytes::Bytes::new(),
        }
    }

    fn code(book: &Rulebook, verb: Verb, name: &str) -> Option<u16> {
        match book.effect_for(&request(verb, name)) {
            Some(Effect::Answer { code, .. }) => Some(code),
            _ => None,
        }
    }

    #[test]
    fn a_rule_skips_then_acts_then_rests_and_the_next_one_gets_its_turn() {
        let book = Rulebook::default();
        let first =
            book.add(Rule::new(Match::writes().name("x"), Effect::answer(500)).skip(1).times(1));
        book.add(Rule::new(Match::any().user_agent("machinist-"), Effect::answer(503)).skip(3));
        let answers: Vec<_> = (0..5).map(|_| code(&book, Verb::Patch, "x")).collect();
        // The second rule does not see the request that the first one took.
        assert_eq!(answers, [None, Some(500), None, None, Some(503)]);
        assert_eq!(first.hits(), 1);
        assert_eq!(code(&book, Verb::Get, "y"), Some(503));
    }

    #[test]
    fn a_removed_rule_does_nothing() {
        let book = Rulebook::default();
        let rule = book.add(Rule::new(Match::any(), Effect::answer(500)));
        rule.remove();
        assert_eq!(code(&book, Verb::Get, "x"), None);
    }

    #[test]
    fn watch_effects_are_not_used_up_by_other_requests() {
        let book = Rulebook::default();
        let rule = book.add(Rule::new(Match::any(), Effect::DelayEvents(Duration::ZERO)).times(1));
        assert!(book.effect_for(&request(Verb::Get, "x")).is_none());
        assert!(book.effect_for(&request(Verb::Watch, "x")).is_some());
        assert_eq!(rule.hits(), 1);
    }
}
