//! The annotation `cluster-autoscaler.kubernetes.io/scale-down-disabled` of Nodes. Several controllers want it, each
//! for a reason of its own: `machinist.dev/scale-down-disabled-by` names them, and the annotation goes with the last
//! of them. Without that record it is another client's and stays, whatever its value is. What others remove is not set
//! again. Pure; a patch of the change needs the Node's resourceVersion.

use std::collections::BTreeSet;

use machinist_api::names::{ANNOTATION_SCALE_DOWN_DISABLED, ANNOTATION_SCALE_DOWN_DISABLED_BY};
use machinist_domain::annotations::AnnotationChange;

use crate::kinds::Node;

const DISABLED: &str = "true";

/// Whether `holder`, the name of a controller, is recorded.
pub(crate) fn is_held(node: &Node, holder: &str) -> bool {
    holders(node).contains(holder)
}

/// What changes if `holder` wants the annotation, or does not want it any more.
pub(crate) fn change(node: &Node, holder: &str, wanted: bool) -> AnnotationChange {
    let mut change = AnnotationChange::default();
    let mut holders = holders(node);
    let current = node.annotations.get(ANNOTATION_SCALE_DOWN_DISABLED);
    let of_others = holders.is_empty() && current.is_some();
    if wanted == holders.contains(holder) || (wanted && of_others) {
        return change;
    }
    if wanted {
        holders.insert(holder);
        if current.is_none() {
            change.want(ANNOTATION_SCALE_DOWN_DISABLED, current, DISABLED);
        }
    } else {
        holders.remove(holder);
        // Another value is a later one of another client.
        if holders.is_empty() && current == Some(DISABLED) {
            change.remove(ANNOTATION_SCALE_DOWN_DISABLED, current);
        }
    }
    let record = node.annotations.get(ANNOTATION_SCALE_DOWN_DISABLED_BY);
    if holders.is_empty() {
        change.remove(ANNOTATION_SCALE_DOWN_DISABLED_BY, record);
    } else {
        let holders: Vec<_> = holders.into_iter().collect();
        change.want(ANNOTATION_SCALE_DOWN_DISABLED_BY, record, &holders.join(" "));
    }
    change
}

/// Words that this version does not know are kept.
fn holders(node: &Node) -> BTreeSet<&str> {
    let record = node.annotations.get(ANNOTATION_SCALE_DOWN_DISABLED_BY);
    record.unwrap_or_default().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use machinist_runtime::cache::kind::Kind as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::Nodes;

    const BY: &str = ANNOTATION_SCALE_DOWN_DISABLED_BY;
    const ON: &str = ANNOTATION_SCALE_DOWN_DISABLED;

    fn node(annotations: &Value) -> Node {
        let node = json!({"metadata": {"name": "n", "annotations": annotations}});
        Nodes.project(serde_json::from_str(&node.to_string()).unwrap())
    }

    fn changed(annotations: &Value, holder: &str, wanted: bool) -> Value {
        let change = change(&node(annotations), holder, wanted);
        change.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    }

    #[test]
    fn the_first_holder_sets_it_and_the_last_one_removes_it() {
        assert_eq!(changed(&json!({}), "a", true), json!({ON: "true", BY: "a"}));
        let one = json!({ON: "true", BY: "b"});
        assert_eq!(changed(&one, "a", true), json!({BY: "a b"}));
        let both = json!({ON: "true", BY: "a b"});
        assert_eq!(changed(&both, "a", true), json!({}));
        assert_eq!(changed(&both, "a", false), json!({BY: "b"}));
        assert_eq!(changed(&one, "b", false), json!({ON: null, BY: null}));
        assert_eq!(changed(&one, "a", false), json!({}));
        assert_eq!(changed(&json!({}), "a", false), json!({}));
    }

    #[test]
    fn what_others_set_changed_or_removed_stays_so() {
        for value in ["true", "false", ""] {
            let theirs = json!({ON: value});
            assert_eq!(changed(&theirs, "a", true), json!({}), "{value}");
            assert_eq!(changed(&theirs, "a", false), json!({}), "{value}");
        }
        let changed_by_a_user = json!({ON: "false", BY: "a"});
        assert_eq!(changed(&changed_by_a_user, "a", true), json!({}));
        assert_eq!(changed(&changed_by_a_user, "a", false), json!({BY: null}));
        let removed_by_a_user = json!({BY: "a"});
        assert_eq!(changed(&removed_by_a_user, "a", true), json!({}));
        assert_eq!(changed(&removed_by_a_user, "a", false), json!({BY: null}));
    }

    #[test]
    fn a_holder_of_another_version_is_kept() {
        let newer = json!({ON: "true", BY: "zebra"});
        assert!(is_held(&node(&newer), "zebra") && !is_held(&node(&newer), "a"));
        assert_eq!(changed(&newer, "a", true), json!({BY: "a zebra"}));
    }
}
