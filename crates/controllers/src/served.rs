//! A stock CRD drops unknown fields silently, so only the answer to a write shows whether the schema has a field.

use machinist_domain::machine::MachineAuthority;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Field {
    /// It was not written yet.
    #[default]
    Unknown,
    Served,
    Dropped,
}

impl Field {
    /// From a written field that the answer has, or has not.
    pub(crate) fn learned(kept: bool) -> Self {
        if kept { Self::Served } else { Self::Dropped }
    }
}

/// The API that manages an object. If the schema has no `status.authoritativeAPI`, the spec decides; without that there
/// is only this API. An unknown value is never taken for this API.
pub(crate) fn authority(
    status: MachineAuthority,
    spec: MachineAuthority,
    field: Field,
) -> MachineAuthority {
    match (status, spec) {
        (MachineAuthority::Unset, MachineAuthority::Unknown) => MachineAuthority::Unknown,
        (MachineAuthority::Unset, spec) if field == Field::Dropped => match spec {
            MachineAuthority::Unset => MachineAuthority::MachineApi,
            spec => spec,
        },
        (status, _) => status,
    }
}

#[cfg(test)]
mod tests {
    use super::MachineAuthority::{ClusterApi, MachineApi, Migrating, Unknown, Unset};
    use super::*;

    #[test]
    fn without_the_field_this_api_manages_the_object() {
        for (stored, wanted, field, expected) in [
            (Unset, Unset, Field::Unknown, Unset),
            (Unset, Unset, Field::Served, Unset),
            (Unset, Unset, Field::Dropped, MachineApi),
            (Unset, ClusterApi, Field::Served, Unset),
            (Unset, ClusterApi, Field::Dropped, ClusterApi),
            (Unset, Unknown, Field::Served, Unknown),
            (Unset, Unknown, Field::Dropped, Unknown),
            (Migrating, MachineApi, Field::Dropped, Migrating),
            (MachineApi, ClusterApi, Field::Served, MachineApi),
        ] {
            assert_eq!(
                authority(stored, wanted, field),
                expected,
                "{stored:?} {wanted:?} {field:?}"
            );
        }
    }
}
