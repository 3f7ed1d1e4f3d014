//! The one table of what each reason stops. `docs/concepts/safety.md` has the same table; a test compares them.

use super::effect::{EffectKind, Initiator};
use super::ledger::Reason;

#[derive(Debug)]
pub struct Row {
    pub reason: Reason,
    /// Whose changes it stops.
    pub initiators: &'static [Initiator],
    /// All others pass.
    pub stops: &'static [EffectKind],
}

/// What takes a machine away.
const REMOVALS: &[EffectKind] = &[EffectKind::Delete, EffectKind::Evict, EffectKind::CloudDelete];

pub const TABLE: [Row; 3] = [
    // Also what a user deletes by hand waits: people who stop everything look at what is there, or repair it.
    Row { reason: Reason::Requested, initiators: &Initiator::ALL, stops: &EffectKind::ALL },
    // What is known may be wrong in any way.
    Row { reason: Reason::ApiUnreachable, initiators: &Initiator::ALL, stops: &EffectKind::ALL },
    // A controller that judges by silent Nodes may be wrong about all of them; a user is served.
    Row { reason: Reason::NodesNotReady, initiators: &[Initiator::Controller], stops: REMOVALS },
];

impl Reason {
    pub(super) fn stops(self, effect: EffectKind, initiator: Initiator) -> bool {
        let mut rows = TABLE.iter().filter(|row| row.reason == self);
        rows.any(|row| row.stops.contains(&effect) && row.initiators.contains(&initiator))
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
        let head = ["reason", "wanted by"].into_iter();
        let head = line(head.chain(EffectKind::ALL.map(EffectKind::as_str)));
        let rule = "|---".repeat(EffectKind::ALL.len() + 2) + "|";
        let rows = TABLE.iter().map(|row| {
            let name = format!("`{}`", row.reason.as_str());
            let stops = |effect: EffectKind| if row.stops.contains(&effect) { "stops" } else { "" };
            let initiators: Vec<_> = row.initiators.iter().map(|one| one.as_str()).collect();
            let cells = [&*name, &*initiators.join(", ")];
            line(cells.into_iter().chain(EffectKind::ALL.map(stops)))
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
