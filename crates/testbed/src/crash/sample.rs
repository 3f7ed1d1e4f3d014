//! A sample rotates with the commit, so coverage adds up over commits; a printed offset repeats it.

use std::io::Write;
use std::ops::Range;
use std::process::Command;

use anyhow::{Context, Result, bail};

const DEFAULT: usize = 5;
/// So many times less often are rare faults chosen, and pairs of faults.
const RARE: usize = 5;

/// (Index of point, index of fault).
pub(super) type Pair = (usize, usize);

const SAMPLE: &str = "MACHINIST_CRASH";
const OFFSET: &str = "MACHINIST_CRASH_OFFSET";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    All,
    /// Every pair of a fault that other samples choose less often, and as many pairs of faults as of all.
    Rare,
    /// At least one pair in `n`, with the faults spread over the points.
    EveryNth {
        n: usize,
        offset: usize,
    },
    /// Different points, spread evenly, with alternating faults.
    Spread {
        count: usize,
        offset: usize,
    },
}

impl Sample {
    /// `MACHINIST_CRASH` is `all` (`make crash`), `rare` or n (default 5); the offset is `MACHINIST_CRASH_OFFSET`, or
    /// else from the commit.
    pub fn from_env() -> Result<Self> {
        let wanted = std::env::var(SAMPLE).ok();
        parse(wanted.as_deref(), offset)
    }

    pub fn spread(count: usize) -> Result<Self> {
        Ok(Self::Spread { count, offset: offset()? })
    }

    /// So many times fewer pairs, for a scenario whose runs take long. All of them, and all rare ones, stay all.
    #[must_use]
    pub fn sparser(self, times: usize) -> Self {
        match self {
            Self::EveryNth { n, offset } => Self::EveryNth { n: n * times.max(1), offset },
            other => other,
        }
    }

    /// As (index of point, index of fault), by point. Faults from the index `rare` on are chosen less often.
    pub(super) fn pairs(self, points: usize, faults: usize, rare: usize) -> Vec<Pair> {
        let all = (0..points).flat_map(|point| (0..faults).map(move |fault| (point, fault)));
        match self {
            Self::All => all.collect(),
            Self::Rare => all.filter(|(_, fault)| *fault >= rare).collect(),
            Self::EveryNth { n, offset } => {
                let mut pairs = every_nth(n.max(1), offset, points, 0..rare);
                pairs.extend(every_nth(n.max(1) * RARE, offset, points, rare..faults));
                pairs.sort_unstable();
                pairs
            }
            Self::Spread { count, offset } if count <= points => {
                let pair = |index: usize| {
                    ((index * points / count + offset % points) % points, (index + offset) % faults)
                };
                let mut pairs: Vec<_> = (0..count).map(pair).collect();
                pairs.sort_unstable();
                pairs
            }
            Self::Spread { count, .. } => all.take(count).collect(),
        }
    }

    /// Runs with two faults: as many as there are points, or a share of them. The offset is the seed.
    pub(super) fn doubles(self, points: usize, faults: usize) -> Vec<[Pair; 2]> {
        let (count, offset) = match self {
            Self::All | Self::Rare => (points, 0),
            Self::EveryNth { n, offset } => (points.div_ceil(n.max(1) * RARE), offset),
            Self::Spread { count, offset } => (count.min(points).div_ceil(DEFAULT), offset),
        };
        let mut dice = fastrand::Rng::with_seed(u64::try_from(offset).unwrap_or_default());
        let double = |index: usize| {
            let first = (index * points / count.max(1) + offset % points) % points;
            [(first, dice.usize(..faults)), (dice.usize(first..points), dice.usize(..faults))]
        };
        (0..count).map(double).collect()
    }
}

fn every_nth(n: usize, offset: usize, points: usize, faults: Range<usize>) -> Vec<Pair> {
    // The choice moves by the number of faults per point, or by one where that would hit the same columns again.
    let step = if coprime(faults.len(), n) { faults.len() } else { 1 };
    let (first, shift) = (faults.start, offset % n);
    let all = (0..points).flat_map(|point| faults.clone().map(move |fault| (point, fault)));
    all.filter(|(point, fault)| (point * step + (fault - first) + shift).is_multiple_of(n))
        .collect()
}

fn parse(wanted: Option<&str>, offset: impl Fn() -> Result<usize>) -> Result<Sample> {
    let n = match wanted {
        None => DEFAULT,
        Some("all") => return Ok(Sample::All),
        Some("rare") => return Ok(Sample::Rare),
        Some(text) => match text.parse() {
            Ok(n) if n > 0 => n,
            _ => bail!("{SAMPLE} must be `all`, `rare` or a positive number (got {text:?})"),
        },
    };
    Ok(Sample::EveryNth { n, offset: offset()? })
}

/// Printed past the capture of the test harness, because it is needed to repeat a run.
fn offset() -> Result<usize> {
    let offset = match std::env::var(OFFSET) {
        Ok(text) => text.parse().with_context(|| {
            format!("{OFFSET} must be a number that is not negative (got {text:?})")
        })?,
        Err(_) => offset_of_commit(),
    };
    writeln!(std::io::stderr(), "crash sample: {OFFSET}={offset}")?;
    Ok(offset)
}

/// 0 where there is no commit.
fn offset_of_commit() -> usize {
    let output = Command::new("git").args(["rev-parse", "--short=7", "HEAD"]).output();
    let commit = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let digits = commit.as_deref().and_then(|commit| commit.get(..7));
    digits.and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

const fn coprime(mut a: usize, mut b: usize) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_fifth_touches_every_point_and_every_fault_at_any_offset() {
        for (points, offset) in (5..40).zip(0..) {
            let pairs = Sample::EveryNth { n: 5, offset }.pairs(points, 7, 7);
            assert!(pairs.len() * 5 + 5 > points * 7, "{points} points: {} pairs", pairs.len());
            let met: HashSet<_> = pairs.iter().map(|pair| pair.0).collect();
            let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
            assert_eq!((met.len(), used.len()), (points, 7));
        }
    }

    #[test]
    fn all_offsets_together_cover_every_pair_once() {
        for (points, faults) in [(12, 7), (10, 5)] {
            let pairs = (100..105)
                .flat_map(|offset| Sample::EveryNth { n: 5, offset }.pairs(points, faults, faults));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            assert_eq!(pairs, Sample::All.pairs(points, faults, faults));
        }
    }

    #[test]
    fn rare_faults_are_chosen_less_often_and_all_in_the_end() {
        let sample = |offset| Sample::EveryNth { n: 5, offset }.pairs(60, 10, 7);
        let (common, rare): (Vec<_>, Vec<_>) = sample(3).into_iter().partition(|pair| pair.1 < 7);
        assert_eq!((common.len(), rare.len()), (60 * 7 / 5, 60 * 3 / 25));
        let ever: HashSet<_> = (0..25).flat_map(sample).collect();
        assert_eq!(ever.len(), 600);
    }

    #[test]
    fn all_rare_faults_are_those_that_a_sample_chooses_less_often() {
        let pairs = Sample::Rare.pairs(60, 10, 7);
        assert_eq!(pairs.len(), 60 * 3);
        assert!(pairs.iter().all(|pair| pair.1 >= 7));
        assert_eq!(Sample::Rare.doubles(60, 10), Sample::All.doubles(60, 10));
    }

    #[test]
    fn a_sparser_sample_has_fewer_pairs_and_covers_all_in_the_end() {
        let sample = |offset| Sample::EveryNth { n: 5, offset }.sparser(3).pairs(60, 7, 7);
        assert_eq!(sample(3).len(), 60 * 7 / 15);
        assert_eq!((0..15).flat_map(sample).collect::<HashSet<_>>().len(), 60 * 7);
        assert_eq!(Sample::All.sparser(3), Sample::All);
    }

    #[test]
    fn doubles_depend_on_the_offset_and_are_in_order() {
        let doubles = |offset| Sample::EveryNth { n: 5, offset }.doubles(60, 10);
        assert_eq!(doubles(1).len(), 3);
        assert_eq!(doubles(1), doubles(1));
        assert_ne!(doubles(1), doubles(2));
        assert!(doubles(7).iter().all(|[first, second]| first.0 <= second.0));
        assert_eq!(Sample::All.doubles(60, 10).len(), 60);
    }

    #[test]
    fn faults_alternate_even_when_their_number_divides_evenly() {
        let pairs = Sample::EveryNth { n: 5, offset: 0 }.pairs(10, 5, 5);
        let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
        assert_eq!((pairs.len(), used.len()), (10, 5));
    }

    #[test]
    fn a_spread_has_as_many_different_points_and_both_faults() {
        for offset in 0..20 {
            let pairs = Sample::Spread { count: 10, offset }.pairs(15, 2, 2);
            let distinct: HashSet<_> = pairs.iter().map(|pair| pair.0).collect();
            assert_eq!((pairs.len(), distinct.len()), (10, 10));
            let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
            assert_eq!(used.len(), 2);
        }
        assert_eq!(Sample::Spread { count: 99, offset: 0 }.pairs(3, 2, 2).len(), 6);
    }

    #[test]
    fn an_unknown_value_is_an_error() {
        let parse = |text| parse(text, || Ok(9));
        assert_eq!(parse(None).unwrap(), Sample::EveryNth { n: 5, offset: 9 });
        assert_eq!(parse(Some("all")).unwrap(), Sample::All);
        assert_eq!(parse(Some("rare")).unwrap(), Sample::Rare);
        assert_eq!(parse(Some("3")).unwrap(), Sample::EveryNth { n: 3, offset: 9 });
        for text in ["", "al", "0", "-1", "ALL"] {
            let error = parse(Some(text)).unwrap_err().to_string();
            assert!(error.contains(SAMPLE), "{error}");
        }
    }
}
