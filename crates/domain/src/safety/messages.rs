use machinist_api::names::{ANNOTATION_FREEZE, FREEZE_CONFIG_MAP};
use machinist_api::resource::CONFIG_MAPS;

use super::effect::ObjectRef;
use super::ledger::{Freeze, Reason};
use super::threshold::{Gauge, Limit};
use crate::key::ObjectKey;
use crate::texts;

/// How much of a text of users is repeated.
const LENGTH: usize = 240;

texts! {
    pub fn switch(namespace: &str) = "{} {}", CONFIG_MAPS.kind, ObjectKey::new(namespace, FREEZE_CONFIG_MAP);
    pub fn annotation(object: &ObjectRef) = "annotation {ANNOTATION_FREEZE} of {object}";
    pub(super) fn ended(reason: &str) = "The freeze has ended (it was {reason})";
}

/// Begins with a lower-case letter in an error, which names what is not sent.
pub(super) fn refused(effect: &str, reason: Reason, source: &str, text: &str) -> String {
    format!("not sent ({effect}): frozen{}", cause(reason, source, text))
}

pub(super) fn cause(reason: Reason, source: &str, text: &str) -> String {
    match reason {
        Reason::Requested => format!(" by the {source}{}", words(text)),
        Reason::ApiUnreachable | Reason::NodesNotReady => format!(", because {text}"),
    }
}

pub(super) fn frozen(freeze: &Freeze) -> String {
    let Freeze { reason, source, text, since: _ } = freeze;
    match reason {
        Reason::Requested => {
            format!("All changes are stopped by the {source}{}; remove it to go on", words(text))
        }
        Reason::ApiUnreachable => format!(
            "All changes are stopped, because {text}; this ends when it answers and caches are listed"
        ),
        Reason::NodesNotReady => format!(
            "Health checks and automatic recycles delete nothing, because {text}; this ends by itself"
        ),
    }
}

pub fn not_answering(url: &str) -> String {
    format!("the API server {url} does not answer, or caches were not listed since")
}

/// `what` is in the plural.
pub fn too_many_not_ready(gauge: Gauge, what: &str, limit: Limit) -> String {
    let (Gauge { count, total }, percent) = (gauge, limit.percent);
    format!("{count} of {total} {what} are not ready (limit {percent}%)")
}

/// The words of a user, on one line.
fn words(text: &str) -> String {
    let text: String =
        text.trim().chars().take(LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.is_empty() { text } else { format!(": {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_table::message_table;

    #[test]
    fn messages() {
        let key = ObjectKey::new("ns", "web");
        let object = ObjectRef { kind: "MachineDeployment", key };
        let (switch, annotation) = (switch("machinist-system"), annotation(&object));
        let (since, requested) = (jiff::Timestamp::UNIX_EPOCH, Reason::Requested);
        let freeze = |reason, source: &str, text: &str| {
            frozen(&Freeze { reason, since, source: source.into(), text: text.into() })
        };
        let limit = Limit { percent: 50, at_least: 5 };
        let gauge = Gauge { count: 6, total: 10 };
        let silent = too_many_not_ready(gauge, "Nodes of Machines", limit);
        let not_ready = Reason::NodesNotReady;
        let lost = not_answering("https://api.example.com:6443/");
        let unreachable = Reason::ApiUnreachable;
        let rows = [
            (
                "condition Frozen=True, Event Warning",
                "Frozen",
                freeze(requested, &switch, "network work"),
            ),
            (
                "condition Frozen=True, Event Warning",
                "Frozen",
                freeze(requested, &annotation, "a\nb"),
            ),
            ("condition Frozen=True, Event Warning", "Frozen", freeze(not_ready, "", &silent)),
            ("condition Frozen=True, Event Warning", "Frozen", freeze(unreachable, "", &lost)),
            ("Event Normal", "FreezeEnded", ended("Requested")),
            ("API request, cloud call", "", refused("delete", requested, &switch, "network work")),
            ("API request, cloud call", "", refused("create", requested, &annotation, " ")),
            ("API request, cloud call", "", refused("delete", not_ready, "", &silent)),
            ("API request, cloud call", "", refused("delete", unreachable, "", &lost)),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }

    #[test]
    fn long_texts_of_users_are_cut() {
        assert_eq!(words(&"x".repeat(1000)).len(), LENGTH + 2);
    }
}
