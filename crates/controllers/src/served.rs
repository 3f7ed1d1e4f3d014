//! What a served schema makes of fields that are written to it. A stock CRD drops those that it does not know without a word, so only the answer to
//! a write tells.

use machinist_domain::machine::MachineAuthority;

/// Whether the served schema has a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Field {
    /// Nothing was written yet whose answer would have told.
    #[default]
    Unknown,
    /// It has it.
    Served,
    /// It drops it.
    Dropped,
}

impl Field {
    /// What an answer tells: the field was written, and is there or not.
    pub fn learned(kept: bool) -> Self {
        if kept { Self::Served } else { Self::Dropped }
    }
}

/// Who is in charge of an object whose status and spec say this.
///
/// Where the status cannot say it, because the schema has no `authoritativeAPI`, the spec does; and where that cannot either there is no other
/// machine API that could be meant. A wish that nobody understands is never taken for ours.
pub fn authority(
    said: MachineAuthority,
    wanted: MachineAuthority,
    field: Field,
) -> MachineAuthority {
    match (said, wanted) {
        (MachineAuthority::Unset, MachineAuthority::Unknown) => MachineAuthority::Unknown,
        (MachineAuthority::Unset, wanted) if field == Field::Dropped => match wanted {
            MachineAuthority::Unset => MachineAuthority::MachineApi,
            wanted => wanted,
        },
        (said, _) => said,
    }
}

#[cfg(test)]
mod tests {
    use super::MachineAuthority::{ClusterApi, MachineApi, Migrating, Unknown, Unset};
    use super::*;

    #[test]
    fn a_schema_that_cannot_say_who_is_in_charge_means_this_api() {
        for (said, wanted, field, expected) in [
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
            assert_eq!(authority(said, wanted, field), expected, "{said:?} {wanted:?} {field:?}");
        }
    }
}
