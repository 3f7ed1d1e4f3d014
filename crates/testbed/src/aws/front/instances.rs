//! What EC2 would show of instances that passed the front; others are shown as moto has them.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::behaviour::Behaviour;
use super::clock::later;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
}

pub(super) const PENDING: State = State { code: "0", name: "pending" };

pub(super) const SHUTTING_DOWN: State = State { code: "32", name: "shutting-down" };

#[derive(Clone, Copy, Debug)]
struct Life {
    exists_from: Timestamp,
    visible_from: Timestamp,
    running_from: Timestamp,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    asked_at: Timestamp,
    terminated_from: Timestamp,
    gone_from: Timestamp,
}

/// There before the front looked.
const OLD: Life = Life {
    exists_from: Timestamp::MIN,
    visible_from: Timestamp::MIN,
    running_from: Timestamp::MIN,
    end: None,
};

#[derive(Debug, Default)]
pub(super) struct Instances {
    lives: Mutex<HashMap<String, Life>>,
}

impl Instances {
    /// `birth` may lie ahead.
    pub(super) fn launched<I>(&self, ids: I, birth: Timestamp, behaviour: &Behaviour)
    where
        I: IntoIterator<Item = String>,
    {
        let life = Life {
            exists_from: birth,
            visible_from: later(birth, behaviour.hidden_for),
            running_from: later(birth, behaviour.pending_for),
            end: None,
        };
        let mut lives = self.lives.lock();
        for id in ids {
            lives.entry(id).or_insert(life);
        }
    }

    /// Asking again changes nothing.
    pub(super) fn ended<I>(&self, ids: I, now: Timestamp, behaviour: &Behaviour)
    where
        I: IntoIterator<Item = String>,
    {
        let terminated_from = later(now, behaviour.shutting_down_for);
        let end = End {
            asked_at: now,
            terminated_from,
            gone_from: later(terminated_from, behaviour.terminated_for),
        };
        let mut lives = self.lives.lock();
        for id in ids {
            lives.entry(id).or_insert(OLD).end.get_or_insert(end);
        }
    }

    pub(super) fn exists(&self, id: &str, now: Timestamp) -> bool {
        self.life(id).exists_from <= now
    }

    /// Whether EC2 admits that it knows it.
    pub(super) fn is_visible(&self, id: &str, now: Timestamp) -> bool {
        let life = self.life(id);
        life.visible_from <= now && life.end.is_none_or(|end| now < end.gone_from)
    }

    /// None: as moto has it.
    pub(super) fn state(&self, id: &str, now: Timestamp) -> Option<State> {
        let life = self.life(id);
        match life.end {
            Some(end) => (now < end.terminated_from).then_some(SHUTTING_DOWN),
            None => (now < life.running_from).then_some(PENDING),
        }
    }

    /// None while one has not been asked to end.
    pub(super) fn all_ended_at(&self, ids: &[String]) -> Option<Timestamp> {
        let ends = ids.iter().map(|id| self.life(id).end.map(|end| end.asked_at));
        ends.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    pub(super) fn clear(&self) {
        self.lives.lock().clear();
    }

    fn life(&self, id: &str) -> Life {
        self.lives.lock().get(id).copied().unwrap_or(OLD)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SLOW: Behaviour = Behaviour {
        hidden_for: Duration::from_secs(5),
        pending_for: Duration::from_secs(30),
        shutting_down_for: Duration::from_mins(1),
        terminated_for: Duration::from_hours(1),
        tokens_for: Duration::ZERO,
        launch_after: Duration::ZERO,
        refresh_step: Duration::ZERO,
        page_size: None,
        zone_type: None,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn name(instances: &Instances, second: i64) -> Option<&'static str> {
        instances.state("i", at(second)).map(|state| state.name)
    }

    #[test]
    fn a_life_from_hidden_to_gone() {
        let instances = Instances::default();
        instances.launched(["i".to_owned()], at(0), &SLOW);
        assert!(!instances.is_visible("i", at(4)));
        assert!(instances.is_visible("i", at(5)));
        assert_eq!(name(&instances, 29), Some("pending"));
        assert_eq!(name(&instances, 30), None);

        instances.ended(["i".to_owned()], at(100), &SLOW);
        instances.ended(["i".to_owned()], at(150), &SLOW);
        assert_eq!(name(&instances, 159), Some("shutting-down"));
        assert_eq!(name(&instances, 160), None);
        assert!(instances.is_visible("i", at(3759)));
        assert!(!instances.is_visible("i", at(3760)));
    }

    #[test]
    fn an_unknown_instance_is_left_alone() {
        let instances = Instances::default();
        assert!(instances.is_visible("i", at(0)) && instances.exists("i", at(0)));
        assert_eq!(name(&instances, 0), None);
        instances.ended(["i".to_owned()], at(0), &SLOW);
        assert_eq!(name(&instances, 1), Some("shutting-down"));
    }

    #[test]
    fn the_end_of_several_is_the_end_of_the_last() {
        let instances = Instances::default();
        let both = ["i".to_owned(), "j".to_owned()];
        instances.ended(["i".to_owned()], at(1), &SLOW);
        assert_eq!(instances.all_ended_at(&both), None);
        instances.ended(["j".to_owned()], at(2), &SLOW);
        assert_eq!(instances.all_ended_at(&both), Some(at(2)));
    }
}
