//! When a recycle may begin: hours of the day, on days of the week.

use jiff::{SignedDuration, Timestamp};
use machinist_api::event_recycler::spec::{self, Day};

use super::error::Refusal;

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * MINUTE;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// All in seconds.
    offset: i64,
    /// The second of the day at which it opens.
    from: i64,
    length: i64,
    /// The days on which it opens, Monday first.
    days: [bool; 7],
}

impl Schedule {
    pub fn read(schedule: &spec::Schedule) -> Result<Self, Refusal> {
        let time = |text: &Option<String>, default| match text {
            None => Ok(default),
            Some(text) => time_of_day(text).ok_or_else(|| Refusal::Schedule(text.clone())),
        };
        let (from, to) = (time(&schedule.from, 0)?, time(&schedule.to, DAY)?);
        let offset = match schedule.time_zone.as_deref() {
            None | Some("UTC") => 0,
            Some(text) => offset(text).ok_or_else(|| Refusal::Schedule(text.to_owned()))?,
        };
        let days = schedule.days.as_deref().filter(|days| !days.is_empty());
        let days = days.map_or([true; 7], |days| WEEK.map(|day| days.contains(&day)));
        let length = if to > from { to - from } else { to - from + DAY };
        Ok(Self { offset, from, length, days })
    }

    pub fn is_open(&self, now: Timestamp) -> bool {
        let local = now.as_second().saturating_add(self.offset);
        // It may have opened yesterday.
        let (day, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let today = second >= self.from && second < self.from + self.length && self.is_on(day);
        let since_yesterday = second + DAY < self.from + self.length && self.is_on(day - 1);
        today || since_yesterday
    }

    /// When a recycle may begin next, if that is within a week.
    pub fn opens(&self, now: Timestamp) -> Option<Timestamp> {
        let local = now.as_second().saturating_add(self.offset);
        let today = local.div_euclid(DAY);
        let begins = (today..=today + 7).filter(|day| self.is_on(*day));
        let next = begins.map(|day| day * DAY + self.from).find(|second| *second > local)?;
        now.checked_add(SignedDuration::from_secs(next - local)).ok()
    }

    fn is_on(&self, day: i64) -> bool {
        // The epoch began on a Thursday.
        let weekday = usize::try_from((day + 3).rem_euclid(7)).unwrap_or_default();
        self.days.get(weekday).copied().unwrap_or_default()
    }
}

const WEEK: [Day; 7] = [Day::Mon, Day::Tue, Day::Wed, Day::Thu, Day::Fri, Day::Sat, Day::Sun];

fn time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = (hours * 60 + minutes) * MINUTE;
    ((0..60).contains(&minutes) && (0..=DAY).contains(&seconds)).then_some(seconds)
}

fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    time_of_day(rest).filter(|seconds| *seconds < DAY).map(|seconds| sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(from: &str, to: &str, zone: &str, days: &[Day]) -> Schedule {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let days = Some(days.to_vec()).filter(|days| !days.is_empty());
        let schedule =
            spec::Schedule { from: text(from), to: text(to), time_zone: text(zone), days };
        Schedule::read(&schedule).unwrap()
    }

    fn at(time: &str) -> Timestamp {
        // The 16th of November 2026 is a Monday.
        format!("2026-11-{time}:00Z").parse().unwrap()
    }

    #[test]
    fn hours_are_open_from_the_first_minute_until_the_last() {
        let hours = schedule("08:00", "18:00", "", &[]);
        for (time, open) in
            [("16T07:59", false), ("16T08:00", true), ("16T17:59", true), ("16T18:00", false)]
        {
            assert_eq!(hours.is_open(at(time)), open, "{time}");
        }
        assert_eq!(hours.opens(at("16T18:00")), Some(at("17T08:00")));
    }

    #[test]
    fn a_night_belongs_to_the_day_on_which_it_begins() {
        let night = schedule("22:00", "05:30", "UTC", &[Day::Mon]);
        for (time, open) in [
            ("16T21:59", false),
            ("16T22:00", true),
            ("17T05:29", true),
            ("17T05:30", false),
            ("17T22:00", false),
            ("16T03:00", false),
        ] {
            assert_eq!(night.is_open(at(time)), open, "{time}");
        }
        assert_eq!(night.opens(at("16T22:00")), Some(at("23T22:00")));
    }

    #[test]
    fn the_clock_is_that_of_the_zone() {
        let hours = schedule("08:00", "09:00", "+02:00", &[Day::Tue]);
        assert!(hours.is_open(at("17T06:30")) && !hours.is_open(at("17T08:30")));
        let hours = schedule("23:00", "24:00", "-03:00", &[Day::Mon]);
        assert!(hours.is_open(at("17T02:30")) && !hours.is_open(at("16T02:30")));
    }

    #[test]
    fn without_words_it_is_always_open() {
        let always = schedule("", "", "", &[]);
        assert!(["16T00:00", "18T23:59"].iter().all(|time| always.is_open(at(time))));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["7", "25:00", "08:60", "-1:00", ""] {
            let schedule = spec::Schedule { from: Some(text.to_owned()), ..Default::default() };
            assert!(Schedule::read(&schedule).is_err(), "{text}");
        }
        for zone in ["Europe/Berlin", "+2", "02:00", "+24:00"] {
            let schedule =
                spec::Schedule { time_zone: Some(zone.to_owned()), ..Default::default() };
            assert!(Schedule::read(&schedule).is_err(), "{zone}");
        }
    }
}
