//! Which of the (point, fault) pairs are run.
//!
//! Invariant: a choice depends only on the numbers of points and faults, so it can be repeated.

/// Of so many pairs one is run where nobody says anything else.
const USUAL: usize = 5;

/// How many pairs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Every pair.
    All,
    /// At least one pair in `n`, in such a way that the faults go around over the points.
    EveryNth(usize),
    /// This many different points, spread evenly, with the faults going around.
    Spread(usize),
}

impl Sample {
    /// Everything if `MACHINIST_CRASH` is `all` (that is `make crash`), every n-th pair if it is a number, a fifth otherwise.
    pub fn from_env() -> Self {
        match std::env::var("MACHINIST_CRASH").as_deref() {
            Ok("all") => Self::All,
            Ok(number) => Self::EveryNth(number.parse().unwrap_or(USUAL)),
            Err(_) => Self::EveryNth(USUAL),
        }
    }

    /// The chosen pairs as (index of point, index of fault), by point.
    pub(super) fn pairs(self, points: usize, faults: usize) -> Vec<(usize, usize)> {
        let all = (0..points).flat_map(|point| (0..faults).map(move |fault| (point, fault)));
        match self {
            Self::All => all.collect(),
            Self::EveryNth(n) => {
                let n = n.max(1);
                // Counting along the rows moves the choice by `faults` per point. Where this would
                // hit the same columns again and again it moves by one instead.
                let step = if coprime(faults, n) { faults } else { 1 };
                all.filter(|(point, fault)| (point * step + fault) % n == 0).collect()
            }
            Self::Spread(count) if count <= points => {
                (0..count).map(|index| (index * points / count, index % faults)).collect()
            }
            Self::Spread(count) => all.take(count).collect(),
        }
    }
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
    fn a_fifth_touches_every_point_and_every_fault() {
        for points in 5..40 {
            let pairs = Sample::EveryNth(5).pairs(points, 7);
            assert!(pairs.len() * 5 >= points * 7, "{points} points: {} pairs", pairs.len());
            let met: HashSet<_> = pairs.iter().map(|pair| pair.0).collect();
            let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
            assert_eq!((met.len(), used.len()), (points, 7));
        }
    }

    #[test]
    fn faults_go_around_even_when_their_number_divides_evenly() {
        let pairs = Sample::EveryNth(5).pairs(10, 5);
        let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
        assert_eq!((pairs.len(), used.len()), (10, 5));
    }

    #[test]
    fn a_spread_has_as_many_different_points_and_both_faults() {
        let pairs = Sample::Spread(10).pairs(15, 2);
        let distinct: HashSet<_> = pairs.iter().map(|pair| pair.0).collect();
        assert_eq!((pairs.len(), distinct.len()), (10, 10));
        let used: HashSet<_> = pairs.iter().map(|pair| pair.1).collect();
        assert_eq!(used.len(), 2);
        assert_eq!(Sample::Spread(99).pairs(3, 2).len(), 6);
    }
}
