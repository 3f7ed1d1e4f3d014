//! Every rule counts the calls of its action by itself, from the moment it was added; if several are due, the oldest
//! is used and the others keep waiting.

use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// 503 `RequestLimitExceeded` from EC2, 400 `Throttling` elsewhere.
    Throttle,
    NoCapacity,
    /// Nothing is done.
    Refuse {
        status: StatusCode,
        code: String,
        message: String,
    },
    /// A page of HTML with a status of success; nothing is done.
    Garble,
    ResetBefore,
    /// Done, but the connection is reset instead of an answer.
    ResetAfter,
    /// Of the real clock.
    Delay(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `*` is any.
    pub action: String,
    pub skip: usize,
    /// None: every call after `skip`.
    pub times: Option<usize>,
    pub effect: Effect,
}

impl Rule {
    pub fn next(action: &str, effect: Effect) -> Self {
        Self::nth(action, 1, effect)
    }

    /// Counted from now; the first one is 1.
    pub fn nth(action: &str, n: usize, effect: Effect) -> Self {
        Self { action: action.to_owned(), skip: n.saturating_sub(1), times: Some(1), effect }
    }

    pub fn every(action: &str, effect: Effect) -> Self {
        Self { times: None, ..Self::next(action, effect) }
    }

    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Counts a call of `action`; true when it is to be hit.
    fn meets(&mut self, action: &str) -> bool {
        if self.action != "*" && self.action != action {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times != Some(0)
    }
}

#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Mutex<Vec<Rule>>,
}

impl Rules {
    pub(super) fn add(&self, rule: Rule) {
        self.rules.lock().push(rule);
    }

    pub(super) fn clear(&self) {
        self.rules.lock().clear();
    }

    pub(super) fn take(&self, action: &str) -> Option<Effect> {
        let mut effect = None;
        for rule in self.rules.lock().iter_mut() {
            if rule.meets(action) && effect.is_none() {
                rule.times = rule.times.map(|times| times - 1);
                effect = Some(rule.effect.clone());
            }
        }
        effect
    }

    pub(super) fn unmet(&self) -> Vec<Rule> {
        let mut rules = self.rules.lock().clone();
        rules.retain(|rule| rule.times.is_some_and(|times| times > 0));
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(rules: &Rules, calls: usize) -> Vec<bool> {
        (0..calls).map(|_| rules.take("A").is_some()).collect()
    }

    #[test]
    fn the_nth_call_is_hit_and_only_that_one() {
        let rules = Rules::default();
        rules.add(Rule::nth("A", 2, Effect::Throttle));
        assert_eq!(rules.take("B"), None);
        assert_eq!(rules.unmet().len(), 1);
        assert_eq!(effects(&rules, 3), [false, true, false]);
        assert_eq!(rules.unmet(), []);
    }

    #[test]
    fn times_and_every() {
        let rules = Rules::default();
        rules.add(Rule::next("A", Effect::Throttle).times(2));
        assert_eq!(effects(&rules, 3), [true, true, false]);
        rules.add(Rule::every("*", Effect::ResetBefore));
        assert_eq!(effects(&rules, 3), [true, true, true]);
    }

    #[test]
    fn of_two_rules_that_are_due_the_second_waits() {
        let rules = Rules::default();
        rules.add(Rule::next("A", Effect::Throttle));
        rules.add(Rule::next("A", Effect::NoCapacity));
        assert_eq!(rules.take("A"), Some(Effect::Throttle));
        assert_eq!(rules.take("A"), Some(Effect::NoCapacity));
        assert_eq!(rules.take("A"), None);
    }
}
