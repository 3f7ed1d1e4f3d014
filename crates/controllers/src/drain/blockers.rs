//! What blocks a drain, in one sentence of bounded length.

/// The most blockers that are named.
pub const NAMED: usize = 5;

/// The most characters of a reason.
const REASON_LENGTH: usize = 240;

/// A blocker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocker<'a, N> {
    /// Its name.
    pub name: N,
    /// Why it blocks; empty if it only takes time.
    pub why: &'a str,
}

/// `a (why), b and 3 more`. The order is the caller's.
pub fn sentence<N: std::fmt::Display>(blockers: &[Blocker<'_, N>]) -> String {
    let tell = |blocker: &Blocker<'_, N>| match blocker.why {
        "" => blocker.name.to_string(),
        why => {
            format!("{} ({})", blocker.name, why.chars().take(REASON_LENGTH).collect::<String>())
        }
    };
    let named: Vec<_> = blockers.iter().take(NAMED).map(tell).collect();
    let mut text = named.join(", ");
    if let Some(more @ 1..) = blockers.len().checked_sub(NAMED) {
        text = format!("{text} and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_few_and_counts_the_rest() {
        let slow = |name| Blocker { name, why: "" };
        assert_eq!(sentence::<&str>(&[]), "");
        assert_eq!(
            sentence(&[Blocker { name: "ns/a", why: "budget b" }, slow("ns/c")]),
            "ns/a (budget b), ns/c"
        );
        let many: Vec<_> = (0..8).map(|n| Blocker { name: n, why: "" }).collect();
        assert_eq!(sentence(&many), "0, 1, 2, 3, 4 and 3 more");
        let long = "é".repeat(1000);
        let text = sentence(&[Blocker { name: "ns/a", why: &long }]);
        assert_eq!(text.matches('é').count(), REASON_LENGTH);
    }
}
