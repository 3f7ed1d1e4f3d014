//! The one table of what each reason stops. `docs/concepts/safety.md` has the same table; a test compares them.

use super::effect::EffectKind;
use super::ledger::Reason;

#[derive(Debug)]
pub struct Row {
    pub reason: Reason,
    /// All others pass.
    pub stops: &'static [EffectKind],
}

pub const TABLE: [Row; 1] = [
    // Also what a user deletes by hand waits: people who stop everything look at what is there, or repair it.
    Row { reason: Reason::Requested, stops: &EffectKind::ALL },
];

impl Reason {
    pub(super) fn stops(self, effect: EffectKind) -> bool {
        TABLE.iter().any(|row| row.reason == self && row.stops.contains(&effect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../../docs/concepts/safety.md");

    fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }

    fn in_markdown() -> String {
        let head = line(["reason"].into_iter().chain(EffectKind::ALL.map(EffectKind::as_str)));
        let rule = "|---".repeat(EffectKind::ALL.len() + 1) + "|";
        let rows = TABLE.iter().map(|row| {
            let name = format!("`{}`", row.reason.as_str());
            let stops = |effect: EffectKind| if row.stops.contains(&effect) { "stops" } else { "" };
            line([&*name].into_iter().chain(EffectKind::ALL.map(stops)))
        });
        [head, rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn table_in_the_docs_is_the_table_in_force() {
        let table = in_markdown();
        assert!(DOCS.contains(&table), "docs/concepts/safety.md must contain:\n{table}");
    }

    #[test]
    fn every_reason_has_one_row() {
        for reason in Reason::ALL {
            assert_eq!(TABLE.iter().filter(|row| row.reason == reason).count(), 1, "{reason:?}");
        }
    }
}
