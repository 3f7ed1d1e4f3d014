//! The condition `Frozen` and its Events: the same for every kind, so that no controller writes them itself.

use jiff::Timestamp;
use machinist_api::names::CONDITION_FROZEN;
use machinist_api::wire;
use serde_json::{Value, json};

use super::ledger::Freeze;
use super::messages;
use crate::conditions::{self, Condition};
use crate::report::{EventNote, EventReason, Report};

const ACTION: &str = "Freeze";
const CONDITIONS: &str = "conditions";

/// The report with the condition `Frozen`, whose transition time is that at which the freeze began, and with an Event
/// when it begins or ends. `stored` are the conditions of the object; `freeze` is the widest that covers it.
#[must_use]
pub fn with_condition(
    mut report: Report,
    stored: &[Condition],
    freeze: Option<&Freeze>,
    now: Timestamp,
) -> Report {
    let known = conditions::find(stored, CONDITION_FROZEN).filter(|known| known.is_true());
    match (freeze, known) {
        (Some(freeze), None) => {
            let text = messages::frozen(freeze);
            report.events.push(EventNote::warning(EventReason::Frozen, ACTION, text));
        }
        (None, Some(known)) => {
            let text = messages::ended(known.reason.as_deref().unwrap_or_default());
            report.events.push(EventNote::normal(EventReason::FreezeEnded, ACTION, text));
        }
        _ => {}
    }
    let patched = report.status.as_ref().and_then(patched);
    let current = patched.as_deref().unwrap_or(stored);
    let list = match freeze {
        Some(freeze) => conditions::set(current, [condition(freeze)], now),
        None => conditions::without(current, CONDITION_FROZEN),
    };
    if let Some(list) = list {
        let status = report.status.get_or_insert_with(|| json!({}));
        status[CONDITIONS] = conditions::to_json(&list);
    }
    report
}

fn condition(freeze: &Freeze) -> Condition {
    let text = messages::frozen(freeze);
    Condition::yes(CONDITION_FROZEN).because(freeze.reason.as_str(), text)
}

/// The conditions that the report writes, if it changes any.
fn patched(status: &Value) -> Option<Vec<Condition>> {
    let list = status.get(CONDITIONS).filter(|list| list.is_array())?;
    let list: Vec<wire::Condition> = serde_json::from_value(list.clone()).ok()?;
    Some(conditions::read(&list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReconcileResult;
    use crate::safety::Reason;

    const BEGAN: Timestamp = Timestamp::constant(1_800_000_000, 0);
    const LATER: Timestamp = Timestamp::constant(1_800_000_060, 0);

    fn freeze(text: &str) -> Freeze {
        let source = messages::switch("ns").into();
        Freeze { reason: Reason::Requested, since: BEGAN, source, text: text.into() }
    }

    fn quiet() -> Report {
        Report::quiet(ReconcileResult::Settled)
    }

    fn written(report: &Report) -> Vec<Condition> {
        patched(report.status.as_ref().expect("a status")).expect("conditions")
    }

    fn reasons(report: &Report) -> Vec<EventReason> {
        report.events.iter().map(|note| note.reason).collect()
    }

    #[test]
    fn condition_is_written_once_and_keeps_its_time() {
        let other = Condition::yes("Available").because("Enough", "3 of 3");
        let begun =
            with_condition(quiet(), std::slice::from_ref(&other), Some(&freeze("a")), BEGAN);
        let stored = written(&begun);
        assert_eq!(reasons(&begun), [EventReason::Frozen]);
        assert_eq!(stored[0], other, "conditions of others stay");
        assert_eq!((&*stored[1].kind, stored[1].last_transition), ("Frozen", Some(BEGAN)));
        let again = with_condition(quiet(), &stored, Some(&freeze("a")), LATER);
        assert_eq!(again, quiet(), "a settled object is not written");
        let ended = with_condition(quiet(), &stored, None, LATER);
        assert_eq!(
            (written(&ended), reasons(&ended)),
            (vec![other], vec![EventReason::FreezeEnded])
        );
        assert_eq!(with_condition(quiet(), &written(&ended), None, LATER), quiet());
    }

    #[test]
    fn another_text_changes_the_condition_without_an_event() {
        let begun = with_condition(quiet(), &[], Some(&freeze("a")), BEGAN);
        let changed = with_condition(quiet(), &written(&begun), Some(&freeze("b")), LATER);
        assert!(written(&changed)[0].message.as_deref().is_some_and(|text| text.contains(": b;")));
        assert!(reasons(&changed).is_empty());
    }

    #[test]
    fn condition_joins_those_that_the_report_writes() {
        let new = [Condition::yes("Progressing").because("NewSet", "one")];
        let status = json!({"replicas": 3, "conditions": conditions::to_json(&new)});
        let report = Report { status: Some(status), ..quiet() };
        let frozen = with_condition(report, &[], Some(&freeze("")), BEGAN);
        let kinds: Vec<_> = written(&frozen).iter().map(|one| one.kind.clone()).collect();
        assert_eq!(kinds, ["Frozen", "Progressing"]);
        assert_eq!(frozen.status.unwrap()["replicas"], 3);
    }
}
