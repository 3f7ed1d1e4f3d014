//! The controllers: one folder each, with the same files.
//!
//! `mod.rs` has the caches and subscriptions, `declaration.rs` name, access and lease. `observe` reads caches, `act`
//! carries out a plan; `snapshot`, `decide`, `plan`, `report`, `error` and `messages` are pure.

#![expect(missing_docs, reason = "names and fields that say what they are")]

pub mod annotator;
pub mod cloud_access;
pub mod clouds;
mod deletion_order;
mod discovery;
pub mod drain;
mod first_list;
#[cfg(test)]
mod fuzz;
pub mod health_check;
mod in_place;
mod inventory;
pub mod kinds;
pub mod machine;
pub mod machine_deployment;
mod machine_node;
pub mod machine_set;
mod migration;
pub mod node_link;
pub mod openshift;
pub mod orphans;
mod owner_references;
pub mod platform;
mod preservation;
pub mod recycler;
mod safety;
mod scale_down;
pub mod secrets;
mod served;
#[cfg(test)]
mod test_process;

use machinist_runtime::controller::declaration::Declaration;

/// Every controller. `machinist run` runs them; manifests and reference docs are generated from this list.
pub const DECLARATIONS: [&Declaration; 7] = [
    &annotator::DECLARATION,
    &machine::DECLARATION,
    &machine_set::DECLARATION,
    &machine_deployment::DECLARATION,
    &node_link::DECLARATION,
    &health_check::DECLARATION,
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
