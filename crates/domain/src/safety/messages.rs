use machinist_api::names::{ANNOTATION_FREEZE, FREEZE_CONFIG_MAP};
use machinist_api::resource::CONFIG_MAPS;

use super::effect::ObjectRef;
use crate::key::ObjectKey;
use crate::texts;

/// How much of a text of users is repeated.
const LENGTH: usize = 240;

texts! {
    pub fn switch(namespace: &str) = "{} {}", CONFIG_MAPS.kind, ObjectKey::new(namespace, FREEZE_CONFIG_MAP);
    pub fn annotation(object: &ObjectRef) = "annotation {ANNOTATION_FREEZE} of {object}";
    /// Begins with a lower-case letter in an error, which names what is not sent.
    pub(super) fn refused(effect: &str, source: &str, text: &str) =
        "not sent ({effect}): frozen by the {source}{}", cause(text);
    pub(super) fn frozen(source: &str, text: &str) =
        "All changes are stopped by the {source}{}; remove it to go on", cause(text);
    pub(super) fn ended(reason: &str) = "The freeze has ended (it was {reason})";
}

/// The words of a user, on one line.
fn cause(text: &str) -> String {
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
        let rows = [
            ("condition Frozen=True, Event Warning", "Frozen", frozen(&switch, "network work")),
            ("condition Frozen=True, Event Warning", "Frozen", frozen(&annotation, "a\nb")),
            ("Event Normal", "FreezeEnded", ended("Requested")),
            ("API request, cloud call", "", refused("delete", &switch, "network work")),
            ("API request, cloud call", "", refused("create", &annotation, " ")),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }

    #[test]
    fn long_texts_of_users_are_cut() {
        assert_eq!(cause(&"x".repeat(1000)).len(), LENGTH + 2);
    }
}
