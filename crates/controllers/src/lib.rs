//! The controllers: one folder each, the same files in each.
//!
//! | file | what | pure |
//! |---|---|---|
//! | `declaration.rs` | its name, lease, workers, access, conditions and Events | yes |
//! | `mod.rs` | the controller: the four stages tied together | |
//! | `observe.rs` | gathers a snapshot from caches | |
//! | `snapshot.rs` | what was observed | yes |
//! | `decide.rs` | from snapshot to plan | yes |
//! | `plan.rs` | what to do, and what came of it, as data | yes |
//! | `act.rs` | carries the plan out through the writer | |
//! | `report.rs` | what to tell people | yes |
//! | `error.rs` | what can be wrong with an object, with category and retry | yes |
//!
//! [`kinds`] has what the caches store, shared by the controllers that read it; [`clouds`] is what is known of instances; [`cloud_access`] finds out whom to ask in a cloud, as whom;
//! [`platform`] is what the cluster says of its cloud; [`openshift`] knows whether this is OpenShift, and whether its own annotator is alive; [`secrets`] reads credentials for providers; [`served`] is what the served schemas have;
//! `first_list` waits for what a cache has not seen yet, and says why it does not come.

pub mod annotator;
pub mod cloud_access;
pub mod clouds;
pub mod drain;
mod first_list;
pub mod kinds;
pub mod machine;
pub mod machine_set;
pub mod node_link;
pub mod openshift;
pub mod platform;
pub mod recycler;
pub mod secrets;
pub mod served;

use machinist_runtime::controller::declaration::Declaration;

/// Every controller. `machinist run` runs them; manifests and reference docs are generated from this list.
pub const DECLARATIONS: [&Declaration; 5] = [
    &annotator::DECLARATION,
    &machine::DECLARATION,
    &machine_set::DECLARATION,
    &node_link::DECLARATION,
    &recycler::DECLARATION,
];

#[cfg(test)]
mod tests {
    use machinist_domain::report::EventReason;

    use super::*;

    #[test]
    fn every_event_reason_is_declared() {
        let declared: Vec<_> = DECLARATIONS.iter().flat_map(|one| one.events).collect();
        let missing = EventReason::ALL.iter().filter(|reason| !declared.contains(reason));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&EventReason>::new());
    }

    #[test]
    fn every_condition_is_among_the_declared_writes() {
        for one in DECLARATIONS {
            for (_, name, _) in one.conditions {
                let field = format!("status.conditions[{name}]");
                let mut fields = one.writes.iter().flat_map(|write| write.fields);
                let declared = fields.any(|path| *path == field || *path == "status");
                assert!(declared, "{}: {field}", one.name);
            }
        }
    }
}
