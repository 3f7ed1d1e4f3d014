//! The revisions of a deployment as tables and values. Pure.

use jiff::Timestamp;
use machinist_controllers::machine_deployment::revision::{Change, Revision, changes};
use serde::Serialize;
use serde_json::Value;

use super::messages;
use crate::verbs::table::{age, cut, table};

/// How much of change cause and differences is in the list.
const CAUSE_WIDTH: usize = 40;
const CHANGES_WIDTH: usize = 90;
/// How much of a value is in the differences. User data is long.
const VALUE_WIDTH: usize = 120;

/// A revision in JSON and YAML.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    revision: i64,
    machine_set: &'a str,
    /// Whether the template of the deployment is this one.
    current: bool,
    replicas: i32,
    created: Option<Timestamp>,
    change_cause: Option<&'a str>,
    /// The revision that it is compared with.
    compared_with: Option<i64>,
    changes: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<&'a Value>,
}

impl<'a> Shown<'a> {
    /// A revision and what it changes in `base`.
    pub(super) fn of(revision: &'a Revision, base: Option<&Revision>) -> Self {
        Self {
            revision: revision.number,
            machine_set: &revision.set,
            current: revision.current,
            replicas: revision.replicas,
            created: revision.created,
            change_cause: revision.change_cause.as_deref(),
            compared_with: base.map(|base| base.number),
            changes: base.map(|base| changes(base, revision)).unwrap_or_default(),
            template: None,
        }
    }

    pub(super) fn with_template(self, revision: &'a Revision) -> Self {
        Self { template: Some(&revision.template), ..self }
    }
}

/// Every revision, compared with the one before.
pub(super) fn all(revisions: &[Revision]) -> Vec<Shown<'_>> {
    let before = std::iter::once(None).chain(revisions.iter().map(Some));
    revisions.iter().zip(before).map(|(one, before)| Shown::of(one, before)).collect()
}

pub(super) fn list(name: &str, shown: &[Shown<'_>], now: Timestamp) -> String {
    if shown.is_empty() {
        return format!("{}\n", messages::no_history(name));
    }
    let row = |one: &Shown<'_>| {
        let current = if one.current { " *" } else { "" };
        let created = one.created.map(|created| age(now.duration_since(created).as_secs()));
        let differences: Vec<_> = one.changes.iter().map(messages::short_change).collect();
        vec![
            format!("{}{current}", one.revision),
            one.machine_set.to_owned(),
            one.replicas.to_string(),
            created.unwrap_or_else(|| "-".to_owned()),
            one.change_cause.map_or("<none>".to_owned(), |cause| cut(cause, CAUSE_WIDTH)),
            if differences.is_empty() {
                "-".to_owned()
            } else {
                cut(&differences.join(", "), CHANGES_WIDTH)
            },
        ]
    };
    let headings = ["REVISION", "MACHINESET", "MACHINES", "AGE", "CHANGE-CAUSE", "CHANGES"];
    let rows = table(&headings, shown.iter().map(row).collect());
    format!("{}\n{rows}", messages::full_name(name))
}

/// One revision with its template.
pub(super) fn details(name: &str, shown: &Shown<'_>) -> anyhow::Result<String> {
    let mut text = messages::revision_heading(name, shown.revision);
    let cause = shown.change_cause.unwrap_or("<none>");
    text.push_str(&messages::revision_details(shown.machine_set, shown.replicas, cause));
    if let Some(base) = shown.compared_with {
        text.push_str(&messages::differences(base, shown.changes.is_empty()));
        text.push_str(&diff(&shown.changes));
    }
    if let Some(template) = shown.template {
        let yaml = serde_saphyr::to_string(template)?;
        let lines = yaml.lines().map(|line| format!("  {line}\n"));
        text.push_str("Template:\n");
        text.extend(lines);
    }
    Ok(text)
}

/// One line per value: `-` what was, `+` what is.
pub(super) fn diff(changes: &[Change]) -> String {
    let mut text = String::new();
    for Change { path, from, to } in changes {
        for (sign, value) in [('-', from), ('+', to)] {
            if let Some(value) = value {
                text.extend([format!("  {sign} {path}: {}\n", cut(value, VALUE_WIDTH))]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::undo::tests::revision;
    use super::*;
    use crate::terminal::{
        Printable,
        tests::{HOSTILE, assert_harmless},
    };

    fn now() -> Timestamp {
        "2026-01-01T03:00:00Z".parse().unwrap()
    }

    #[test]
    fn list_and_details() {
        let revisions = [revision(1, false), revision(2, false), revision(3, true)];
        let shown = all(&revisions);
        let mut text = list("web", &shown, now());
        text.push_str(&list("web", &[], now()));
        let last = Shown::of(&revisions[2], Some(&revisions[0])).with_template(&revisions[2]);
        text.extend(["\n", &details("web", &last).unwrap()]);
        let first = Shown::of(&revisions[0], None);
        text.extend(["\n", &details("web", &first).unwrap()]);
        let same = Shown::of(&revisions[1], Some(&revisions[1]));
        text.extend(["\n", &details("web", &same).unwrap()]);
        text.extend(["\n", &serde_json::to_string_pretty(&shown[1]).unwrap(), "\n"]);
        insta::assert_snapshot!("history", text);
    }

    #[test]
    fn texts_of_a_revision_do_not_control_the_terminal() {
        let mut hostile = revision(2, true);
        hostile.change_cause = Some(HOSTILE.to_owned());
        hostile.set = HOSTILE.to_owned();
        hostile.template["spec"][HOSTILE] = HOSTILE.into();
        let revisions = [revision(1, false), hostile];
        let shown = Shown::of(&revisions[1], Some(&revisions[0])).with_template(&revisions[1]);
        // As they are printed.
        for text in [list("web", &all(&revisions), now()), details("web", &shown).unwrap()] {
            assert_harmless(&Printable::lines(&text));
        }
    }
}
