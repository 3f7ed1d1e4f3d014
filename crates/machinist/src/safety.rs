//! The flags of freezes that machinist finds by itself.

use std::time::Duration;

use clap::Args;
use machinist_domain::safety::{Limit, Limits};

use crate::cli::duration;
use crate::messages::NOT_A_SHARE;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Freezes")]
pub(crate) struct SafetyArguments {
    /// Health checks and automatic recycles delete nothing while more than this share of the Nodes that have been
    /// ready is not ready; 100% disables it.
    #[arg(long = "freeze-not-ready", default_value = "50%", value_parser = share, value_name = "PERCENT")]
    pub(crate) not_ready: u8,
    /// The smallest number of Nodes of which --freeze-not-ready is a share.
    #[arg(long = "freeze-nodes", default_value_t = 5, value_name = "N")]
    pub(crate) nodes: usize,
    /// All changes are stopped when an API server has not answered for this long, until it answers and everything that
    /// is watched has been listed; 0s disables it.
    #[arg(long = "freeze-unreachable", default_value = "30s", value_parser = unreachable, value_name = "DURATION")]
    pub(crate) unreachable: Duration,
}

impl SafetyArguments {
    pub(crate) fn limits(&self) -> Limits {
        let at_least = self.nodes;
        Limits { not_ready: Limit { percent: self.not_ready, at_least } }
    }
}

fn unreachable(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO)
}

/// A share in percent, with the sign or without.
fn share(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    number.parse().ok().filter(|share| *share <= 100).ok_or_else(|| NOT_A_SHARE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::RunArguments;

    #[test]
    fn flags_are_the_limits() {
        let limits = |flags: &[&str]| RunArguments::parse(flags).map(|all| all.safety.limits());
        assert_eq!(limits(&[]).unwrap(), Limits::default());
        let other = limits(&["--freeze-not-ready=30%", "--freeze-nodes=8"]).unwrap();
        assert_eq!(other.not_ready, Limit { percent: 30, at_least: 8 });
        assert_eq!(limits(&["--freeze-not-ready=100"]).unwrap().not_ready.percent, 100);
        let unreachable =
            |flag: &str| RunArguments::parse(&[flag]).map(|all| all.safety.unreachable);
        assert_eq!(unreachable("--freeze-unreachable=0s").unwrap(), Duration::ZERO);
        assert_eq!(unreachable("--freeze-unreachable=1m").unwrap(), Duration::from_secs(60));
        for bad in ["101%", "-1%", "half", ""] {
            assert!(limits(&["--freeze-not-ready", bad]).is_err(), "{bad}");
        }
    }
}
