//! What the controller remembers per set or Machine. All of it can be lost: that costs a request and nothing else.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::{Uid, Version};
use machinist_domain::retry::Category;
use parking_lot::Mutex;

use super::ordinals::Window;
use super::snapshot::InFlight;

/// How long something is remembered that is not needed again.
pub(crate) const MEMORY: Duration = Duration::from_secs(3600);

pub(crate) type Remembered<V> = Mutex<ExpiringMap<Uid, V>>;

/// The generations of sets for which their Machines were listed live. A list serves one deletion of one generation.
#[derive(Debug, Default)]
pub(super) struct Lists(Remembered<i64>);

impl Lists {
    pub(super) fn add(&self, set: &Uid, generation: i64, now: Duration) {
        self.0.lock().insert(set.clone(), generation, now, MEMORY);
    }

    pub(super) fn serves(&self, set: &Uid, generation: i64, now: Duration) -> bool {
        self.0.lock().get(set, now) == Some(&generation)
    }

    pub(super) fn used(&self, set: &Uid) {
        self.0.lock().remove(set);
    }
}

/// The open windows of sets, and until when creates in them may be executed although they were not answered: the API
/// server may execute a request for `late`, also if its client has given up or another process leads by then.
#[derive(Debug)]
pub(super) struct Creations {
    windows: Remembered<(Window, Option<Duration>)>,
    late: Duration,
}

impl Creations {
    pub(super) fn new(late: Duration) -> Self {
        Self { windows: Remembered::default(), late }
    }

    pub(super) fn in_flight(&self, set: &Uid, window: Window, now: Duration) -> InFlight {
        match self.until(set, window, now) {
            None => InFlight::No,
            Some(until) if now < until => InFlight::Maybe(until.saturating_sub(now)),
            Some(_) => InFlight::Unlisted,
        }
    }

    /// If this process has not stored the window, another one may have sent creates.
    fn until(&self, set: &Uid, window: Window, now: Duration) -> Option<Duration> {
        if window.is_closed() {
            return None;
        }
        let known = self.windows.lock().get(set, now).copied();
        match known {
            Some((known, until)) if known == window => until,
            _ => {
                self.unanswered(set, window, now);
                Some(now + self.late)
            }
        }
    }

    pub(super) fn unanswered(&self, set: &Uid, window: Window, now: Duration) {
        self.store(set, window, Some(now + self.late), now);
    }

    /// This process has stored the window, and has created nothing in its new part.
    pub(super) fn moved(&self, set: &Uid, (from, to): (Window, Window), now: Duration) {
        let until = self.until(set, from, now);
        self.store(set, to, until, now);
    }

    /// The Machines were listed, from `began` on.
    pub(super) fn listed(&self, set: &Uid, window: Window, began: Duration) {
        if self.in_flight(set, window, began) == InFlight::Unlisted {
            self.store(set, window, None, began);
        }
    }

    /// Another process may lead in between, so a window is not remembered for long.
    fn store(&self, set: &Uid, window: Window, until: Option<Duration>, now: Duration) {
        self.windows.lock().insert(set.clone(), (window, until), now, 2 * self.late);
    }
}

/// How long changed counts are held back: two writes for the same set are at least `pause` apart.
pub(super) fn hold(written: Option<Duration>, pause: Duration, now: Duration) -> Duration {
    written.map_or(Duration::ZERO, |at| (at + pause).saturating_sub(now))
}

/// Whether an object is skipped after this failure to write it, so that it does not block scaling. All other failures
/// end by themselves.
pub(crate) fn skips_machine(category: Category) -> bool {
    category.needs_attention()
}

/// A Machine that could not be adopted or released; for MachineDeployments, any object that could not be written.
#[derive(Debug, Clone)]
pub(crate) struct FailedClaim {
    /// The version that was tried: a Machine that has changed since is tried again.
    pub(super) version: Version,
    pub(crate) cause: Arc<str>,
    /// How often this version was tried.
    failures: u32,
    /// The uptime at which it is tried again: no event announces that a right was granted or a webhook answers again.
    pub(crate) retry_at: Duration,
}

impl FailedClaim {
    /// The claim of this Machine failed, after `earlier` failures.
    pub(crate) fn after(
        earlier: Option<&Self>,
        version: Version,
        cause: Arc<str>,
        now: Duration,
        poll: Duration,
    ) -> Self {
        let earlier = earlier.filter(|earlier| earlier.version == version);
        let failures = earlier.map_or(0, |earlier| earlier.failures).saturating_add(1);
        // 2 s to 5 min.
        let backoff = Backoff { base: poll / 10, max: 15 * poll };
        let retry_at = now + backoff.delay(failures, 0.0);
        Self { version, cause, failures, retry_at }
    }

    pub(crate) fn skips(&self, version: Version, now: Duration) -> bool {
        self.version == version && self.retry_at > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_counts_for_the_rest_of_the_pause() {
        let second = Duration::from_secs(1);
        let hold_at = |written, now| hold(written, second, now);
        assert_eq!(hold_at(None, second), Duration::ZERO);
        assert_eq!(hold_at(Some(second), second + second / 4), second / 4 * 3);
        assert_eq!(hold_at(Some(second), 2 * second), Duration::ZERO);
    }

    #[test]
    fn skips_a_machine_until_it_changes_or_the_doubling_delay_is_over() {
        let second = Duration::from_secs(1);
        let poll = 20 * second;
        let fail = |earlier: Option<&FailedClaim>, version, now| {
            FailedClaim::after(earlier, Version(version), "forbidden".into(), now, poll)
        };
        let first = fail(None, 1, second);
        assert!(first.skips(Version(1), 2 * second) && !first.skips(Version(1), 3 * second));
        assert!(!first.skips(Version(2), 2 * second), "it has changed");
        let second_time = fail(Some(&first), 1, 3 * second);
        assert_eq!(second_time.retry_at, 7 * second);
        let often = (0..20).fold(second_time.clone(), |last, _| fail(Some(&last), 1, second));
        assert_eq!(often.retry_at, 301 * second);
        assert_eq!(fail(Some(&second_time), 2, 7 * second).retry_at, 9 * second, "it has changed");
    }

    #[test]
    fn creates_are_in_flight_until_the_api_server_has_given_up_and_machines_are_listed() {
        let at = Duration::from_secs;
        let (creations, set) = (Creations::new(at(60)), Uid("s".into()));
        let window = |text: &str| text.parse::<Window>().unwrap();
        let in_flight = |text, now| creations.in_flight(&set, window(text), at(now));
        let listed = |text, now| creations.listed(&set, window(text), at(now));
        // Another process has stored it.
        assert_eq!(in_flight("0..3", 100), InFlight::Maybe(at(60)));
        creations.moved(&set, (window("0..3"), window("0..4")), at(140));
        assert_eq!(in_flight("0..4", 150), InFlight::Maybe(at(10)));
        listed("0..4", 159);
        assert_eq!(in_flight("0..4", 160), InFlight::Unlisted);
        listed("0..4", 160);
        assert_eq!(in_flight("0..4", 160), InFlight::No);
        assert_eq!(in_flight("4..4", 170), InFlight::No);
        creations.moved(&set, (window("4..4"), window("4..6")), at(170));
        assert_eq!(in_flight("4..6", 170), InFlight::No);
        creations.unanswered(&set, window("4..6"), at(180));
        assert_eq!(in_flight("4..6", 190), InFlight::Maybe(at(50)));
        assert_eq!(in_flight("4..6", 240), InFlight::Unlisted);
        // Another process may have led since.
        assert_eq!(in_flight("4..6", 300), InFlight::Maybe(at(60)));
    }

    #[test]
    fn a_list_serves_one_deletion_of_one_generation() {
        let (lists, set, now) = (Lists::default(), Uid("s".into()), Duration::from_secs(1));
        assert!(!lists.serves(&set, 7, now));
        lists.add(&set, 7, now);
        assert!(lists.serves(&set, 7, now) && !lists.serves(&Uid("other".into()), 7, now));
        assert!(!lists.serves(&set, 8, now), "the spec has changed since");
        lists.used(&set);
        assert!(!lists.serves(&set, 7, now), "Machines were deleted since");
        lists.add(&set, 7, now);
        assert!(!lists.serves(&set, 7, now + MEMORY));
    }
}
