//! The spec of an EventRecycler, validated and with its defaults.
//!
//! The schema checks the same, but objects may be older than the schema. An invalid spec stops counting; its recycles
//! in progress continue with the default of every invalid field ([`for_recycles`]).

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use machinist_api::event_recycler::EventRecyclerSpec;
use machinist_api::event_recycler::spec::{CountBy, NodeGroupSelector, Strategy};
use machinist_domain::pairs::Pairs;

use super::detection::pattern::Pattern;
use super::detection::window::{MOST_SUBJECTS, Window};
use super::error::Refusal;
use super::recycling;
use super::schedule::Schedule;
use super::timings::RecyclerTimings;

const WATCH_INTERVAL: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(10 * 60);
const COOL_DOWN: Duration = Duration::from_secs(60 * 60);
const THRESHOLD: i32 = 5;
/// How often one object counts where occurrences are counted.
const PER_OBJECT: i32 = 10;

#[derive(Debug, Clone)]
pub struct Settings {
    pub pattern: Pattern,
    pub watch_interval: Duration,
    pub threshold: u64,
    pub window: Window,
    pub count_by: CountBy,
    /// How often one object counts within the window.
    pub per_object: u32,
    /// Whether an Event about a pod that does not exist counts for the host that it names.
    pub trust_event_host: bool,
    /// Whether recycles are only reported.
    pub dry_run: bool,
    pub region: Option<Arc<str>>,
    pub groups: GroupSelector,
    pub cool_down: SignedDuration,
    pub max_concurrent: usize,
    pub strategy: Strategy,
    /// When a recycle may begin; always if `None`.
    pub schedule: Option<Schedule>,
}

#[derive(Debug, Clone)]
pub struct GroupSelector(NodeGroupSelector);

impl GroupSelector {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names.iter().flatten().map(String::as_str)
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.0.names.as_ref().is_none_or(|names| names.iter().any(|one| one == name))
    }

    /// Whether a group that has a Node with these labels may be recycled.
    pub fn has_labels(&self, labels: &Pairs) -> bool {
        let mut wanted = self.0.match_labels.iter().flatten();
        wanted.all(|(name, value)| labels.get(name) == Some(value.as_str()))
    }
}

impl Settings {
    pub fn read(spec: Option<&EventRecyclerSpec>) -> Result<Self, Refusal> {
        let spec = spec.ok_or(Refusal::NothingToLookFor)?;
        let read =
            |field, text: &Option<String>, default| duration(field, text.as_deref(), default);
        let cool_down = read("coolDown", &spec.cool_down, COOL_DOWN)?;
        // Fields that only recycles use are checked as well: an error is better than a silent default.
        read("pollInterval", &spec.poll_interval, Duration::ZERO)?;
        read("recycleTimeout", &spec.recycle_timeout, Duration::ZERO)?;
        read("drainTimeout", &spec.drain_timeout, Duration::ZERO)?;
        let watch_interval = read("watchInterval", &spec.watch_interval, WATCH_INTERVAL)?;
        let threshold = positive("threshold", spec.threshold, THRESHOLD)?;
        let count_by = spec.count_by.unwrap_or_default();
        let per_object = positive("maxPerObject", spec.max_per_object, PER_OBJECT)?;
        let per_object = if count_by == CountBy::Events { per_object } else { 1 };
        let most = u64::from(per_object) * MOST_SUBJECTS as u64;
        if u64::from(threshold) > most {
            return Err(Refusal::Unreachable { threshold, most });
        }
        let max_concurrent = positive("maxConcurrent", spec.max_concurrent, 1)?;
        positive("maxUnavailable", spec.max_unavailable, 1)?;
        Ok(Self {
            pattern: Pattern::read(spec)?,
            watch_interval,
            threshold: u64::from(threshold),
            window: Window::new(read("window", &spec.window, WINDOW)?),
            count_by,
            per_object,
            trust_event_host: spec.trust_event_host.unwrap_or_default(),
            dry_run: spec.dry_run.unwrap_or_default(),
            region: spec.aws_region.as_deref().filter(|it| !it.is_empty()).map(Arc::from),
            groups: GroupSelector(spec.node_groups.clone().unwrap_or_default()),
            cool_down: SignedDuration::try_from(cool_down).unwrap_or(SignedDuration::MAX),
            max_concurrent: usize::try_from(max_concurrent).unwrap_or(usize::MAX),
            strategy: spec.strategy.unwrap_or_default(),
            schedule: spec.schedule.as_ref().map(Schedule::read).transpose()?,
        })
    }
}

/// How to recycle. An invalid field has its default, because a recycle that has begun must end.
pub(super) fn for_recycles(
    spec: Option<&EventRecyclerSpec>,
    timings: &RecyclerTimings,
) -> recycling::Settings {
    let defaults = recycling::Settings {
        settle: timings.settle,
        late_call: timings.late_call,
        ..recycling::Settings::default()
    };
    let Some(spec) = spec else { return defaults };
    let read =
        |text: &Option<String>, default| duration("", text.as_deref(), default).unwrap_or(default);
    let timeout = read(&spec.recycle_timeout, defaults.timeout);
    let max_unavailable = spec.max_unavailable.and_then(|number| u32::try_from(number).ok());
    recycling::Settings {
        poll: read(&spec.poll_interval, defaults.poll).max(timings.shortest_interval),
        timeout,
        drain: spec.drain.unwrap_or(defaults.drain),
        drain_timeout: read(&spec.drain_timeout, timeout),
        max_unavailable: max_unavailable.unwrap_or(defaults.max_unavailable).max(1),
        dry_run: spec.dry_run.unwrap_or_default(),
        ..defaults
    }
}

/// A Go duration. An empty text and zero are the default, as in kaws.
fn duration(
    field: &'static str,
    text: Option<&str>,
    default: Duration,
) -> Result<Duration, Refusal> {
    let Some(text) = text.filter(|text| !matches!(*text, "" | "0")) else { return Ok(default) };
    let refusal = || Refusal::Duration { field, text: text.to_owned() };
    let read: SignedDuration = text.parse().map_err(|_| refusal())?;
    let read = Duration::try_from(read).map_err(|_| refusal())?;
    Ok(if read.is_zero() { default } else { read })
}

fn positive(field: &'static str, number: Option<i32>, default: i32) -> Result<u32, Refusal> {
    let number = number.unwrap_or(default);
    u32::try_from(number).ok().filter(|it| *it > 0).ok_or(Refusal::Number { field, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> EventRecyclerSpec {
        EventRecyclerSpec { search_terms: Some(vec!["x".to_owned()]), ..Default::default() }
    }

    #[test]
    fn defaults_are_those_of_kaws() {
        let settings = Settings::read(Some(&spec())).unwrap();
        assert_eq!((settings.threshold, settings.watch_interval), (5, WATCH_INTERVAL));
        assert_eq!((settings.dry_run, settings.max_concurrent), (false, 1));
        let recycles = for_recycles(Some(&spec()), &RecyclerTimings::default());
        assert_eq!((recycles.poll.as_secs(), recycles.timeout.as_secs()), (15, 1200));
        assert_eq!(recycles.drain_timeout, recycles.timeout);
    }

    #[test]
    fn durations_have_the_go_syntax() {
        for (text, seconds) in [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("0", 60), ("", 60)] {
            let spec = EventRecyclerSpec { watch_interval: Some(text.to_owned()), ..spec() };
            let read = Settings::read(Some(&spec)).unwrap().watch_interval;
            assert_eq!(read.as_secs(), seconds, "{text}");
        }
    }

    #[test]
    fn intervals_have_a_floor_that_the_time_scale_shrinks() {
        let poll = || Some("10ms".to_owned());
        let spec = EventRecyclerSpec { poll_interval: poll(), ..spec() };
        let timings = RecyclerTimings::default();
        assert_eq!(for_recycles(Some(&spec), &timings).poll, Duration::from_secs(1));
        let quick = timings.scaled(0.05);
        assert_eq!(for_recycles(Some(&spec), &quick).poll, Duration::from_millis(50));
    }

    /// Such objects may be stored: they are older than the schema.
    #[test]
    fn an_invalid_duration_is_refused_and_recycles_use_the_default() {
        for text in ["abc", "15", "-20m"] {
            let bad = || Some(text.to_owned());
            for spec in [
                EventRecyclerSpec { watch_interval: bad(), ..spec() },
                EventRecyclerSpec { window: bad(), ..spec() },
                EventRecyclerSpec { cool_down: bad(), ..spec() },
                EventRecyclerSpec { poll_interval: bad(), ..spec() },
                EventRecyclerSpec { recycle_timeout: bad(), ..spec() },
            ] {
                let refusal = Settings::read(Some(&spec)).unwrap_err();
                assert!(matches!(refusal, Refusal::Duration { .. }), "{refusal}");
                assert_eq!(
                    for_recycles(Some(&spec), &RecyclerTimings::default()),
                    recycling::Settings::default()
                );
            }
        }
    }

    #[test]
    fn selecting_nothing_or_everything_is_refused() {
        assert_eq!(Settings::read(None).unwrap_err(), Refusal::NothingToLookFor);
        let empty = EventRecyclerSpec::default();
        assert_eq!(Settings::read(Some(&empty)).unwrap_err(), Refusal::NothingToLookFor);
        let all = EventRecyclerSpec { search_terms: Some(vec![String::new()]), ..empty };
        assert_eq!(Settings::read(Some(&all)).unwrap_err(), Refusal::EmptyTerm);
    }

    #[test]
    fn numbers_are_at_least_one() {
        let spec = EventRecyclerSpec { threshold: Some(0), ..spec() };
        let refusal = Settings::read(Some(&spec)).unwrap_err();
        assert_eq!(refusal, Refusal::Number { field: "threshold", number: 0 });
    }

    #[test]
    fn an_unreachable_threshold_is_refused() {
        for (count_by, per_object, most) in [
            (None, None, 1000),
            (Some(CountBy::Pods), Some(7), 1000),
            (Some(CountBy::Events), None, 10_000),
            (Some(CountBy::Events), Some(3), 3000),
        ] {
            let of = |threshold| EventRecyclerSpec {
                threshold: Some(threshold),
                count_by,
                max_per_object: per_object,
                ..spec()
            };
            let enough = Settings::read(Some(&of(most))).unwrap();
            assert_eq!(enough.threshold, u64::from(most.unsigned_abs()));
            let refusal = Settings::read(Some(&of(most + 1))).unwrap_err();
            let (threshold, most) = (most.unsigned_abs() + 1, most.unsigned_abs().into());
            assert_eq!(refusal, Refusal::Unreachable { threshold, most });
        }
    }

    /// What everyone can write is not believed unless the spec says so.
    #[test]
    fn nodes_count_once_and_hosts_are_not_believed_by_default() {
        let settings = Settings::read(Some(&spec())).unwrap();
        assert_eq!((settings.count_by, settings.per_object), (CountBy::Nodes, 1));
        assert!(!settings.trust_event_host);
    }

    #[test]
    fn groups_are_selected_by_name_and_by_the_labels_of_their_nodes() {
        let spec = NodeGroupSelector {
            names: Some(vec!["a".to_owned()]),
            match_labels: Some([("pool".to_owned(), "x".to_owned())].into()),
        };
        let selector = GroupSelector(spec);
        assert!(selector.has_name("a") && !selector.has_name("b"));
        assert!(!selector.has_labels(&Pairs::default()));
        let all = GroupSelector(NodeGroupSelector::default());
        assert!(all.has_name("b") && all.has_labels(&Pairs::default()));
    }
}
