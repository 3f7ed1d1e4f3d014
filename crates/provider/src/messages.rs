//! The texts of this crate that users can meet.

use std::fmt;

use machinist_domain::key::ObjectKey;
use machinist_domain::texts;

use crate::node_groups::GroupError;
use crate::spec::SpecError;

/// Why a binary without a provider of node groups cannot recycle.
pub const NO_NODE_GROUPS: &str = "no provider of this binary supports node groups";

texts! {
    /// Of a request for an attempt whose launch is not stored.
    pub fn not_prepared(attempt: u32) = "attempt {attempt} is not prepared";
    /// Of an update without anything to update.
    pub fn no_instance(machine: &ObjectKey) = "Machine {machine} has no instance";
    /// What a deletion waits for.
    pub fn instance_state(id: &str, state: &str) = "instance {id} is {state}";
    /// While an instance that was requested may still appear.
    pub fn not_listed_yet(cloud: &str) = "instance not found yet; {cloud} lists new instances with a delay";
    /// The same during a deletion. Without the remaining time: a changing text would be a write each time.
    pub fn may_still_appear(cloud: &str) = "instance not found; waiting in case {cloud} lists it with a delay";
    /// Of an instance that was listed as an orphan.
    pub fn owner_changed(id: &str) =
        "instance {id} is not deleted: since it was listed, its tags have changed";
    /// Of a field of another system's object.
    pub fn wrong_type(expected: &str) = "must be {expected}";
}

/// Of a field of another system's object that is not read.
pub const UNKNOWN_FIELD: &str = "unknown field; not converted";
/// Of a number in it.
pub const NEGATIVE: &str = "must not be negative";

/// How an instance differs from its spec.
pub fn tags_differ<'a>(names: impl Iterator<Item = &'a String>) -> String {
    format!("tags differ: {}", names.map(String::as_str).collect::<Vec<_>>().join(", "))
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("providerSpec.value: is required"),
            Self::ForeignKind { kind, known } => {
                write!(f, "no provider supports the provider spec's kind {kind:?}")?;
                for (at, kind) in known.iter().enumerate() {
                    write!(f, "{}{kind}", if at == 0 { "; supported: " } else { ", " })?;
                }
                Ok(())
            }
            Self::Invalid { reason } => write!(f, "provider spec is invalid: {reason}"),
        }
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cloud(error) => error.fmt(f),
            Self::Changed { found } => {
                write!(f, "group sizes changed (now {found}); deciding again")
            }
            Self::RefreshRunning => f.write_str("an instance refresh is already running"),
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;
    use crate::node_groups::Sizes;
    use crate::spec::SpecKind;

    #[test]
    fn all_messages() {
        let known = vec![
            SpecKind { group: "a.example.com", kind: "AConfig" },
            SpecKind { group: "b.example.com", kind: "BConfig" },
        ];
        let specs = [
            SpecError::Missing,
            SpecError::ForeignKind { kind: "CConfig".to_owned(), known },
            SpecError::Invalid { reason: "tags: must be an object".to_owned() },
        ];
        let groups = [
            GroupError::Changed { found: Sizes { min: 1, max: 5, desired: 3 } },
            GroupError::RefreshRunning,
        ];
        let calls = [
            not_prepared(2),
            no_instance(&ObjectKey::new("ns", "worker-1")),
            instance_state("i-1", "shutting-down"),
            not_listed_yet("EC2"),
            may_still_appear("EC2"),
            owner_changed("i-1"),
            tags_differ(["Name", "team"].map(str::to_owned).iter()),
        ];
        let mut rows: Vec<_> =
            specs.iter().map(|error| ("provider spec", "", error.to_string())).collect();
        rows.extend(groups.iter().map(|error| ("node group", "", error.to_string())));
        rows.push(("node group", "", NO_NODE_GROUPS.to_owned()));
        rows.extend(calls.map(|text| ("cloud call", "", text)));
        let fields = [wrong_type("a whole number"), NEGATIVE.to_owned(), UNKNOWN_FIELD.to_owned()];
        rows.extend(fields.map(|text| ("conversion", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
