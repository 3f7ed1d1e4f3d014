//! Public names. One that machinist invents is under `machinist.dev/`; all others are contracts of other projects and
//! must not change.

mod capacity;
mod health_check;
mod lease;
mod machine;
mod node;
mod recycler;
mod state;

pub use capacity::*;
pub use health_check::*;
pub use lease::*;
pub use machine::*;
pub use node::*;
pub use recycler::*;
pub use state::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_under_machinist_dev() {
        for name in [
            ANNOTATION_ANNOTATED,
            ANNOTATION_CANARY_PASSED,
            ANNOTATION_CREATION_TIMEOUT,
            ANNOTATION_DRAIN,
            ANNOTATION_FAILED_MACHINES,
            ANNOTATION_FORCE_DELETION,
            ANNOTATION_FREEZE,
            ANNOTATION_HOLD,
            ANNOTATION_HOLDER,
            ANNOTATION_HOT_FIELDS,
            ANNOTATION_IN_PLACE_TARGET,
            ANNOTATION_IN_PLACE_TIMEOUT,
            ANNOTATION_NODE_METADATA,
            ANNOTATION_ORDINALS,
            ANNOTATION_PENDING_CHANGES,
            ANNOTATION_PRESERVE,
            ANNOTATION_PRESERVED_UNTIL,
            ANNOTATION_PRESERVE_TIMEOUT,
            ANNOTATION_REMEDIATE_CONTROL_PLANE,
            ANNOTATION_RESTARTED_AT,
            ANNOTATION_ROLLOUT,
            ANNOTATION_SCALE_DOWN_DISABLED_BY,
            ANNOTATION_ROLLOUT_ABORTED,
            ANNOTATION_ROLLOUT_STARTED,
            FINALIZER_RECYCLER,
            LABEL_IN_PLACE,
            LABEL_IN_PLACE_RESULT,
            LABEL_TEMPLATE_HASH,
            TAG_MACHINE_UID,
            TAINT_REPLACED_NEXT,
            TAINT_PRESERVED,
        ] {
            assert_eq!(name.split_once('/').map(|(domain, _)| domain), Some("machinist.dev"));
        }
    }
}
