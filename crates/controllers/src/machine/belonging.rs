//! Whether a Node is the one that a machine names. What it says yes to is drained, and deleted with the machine, so doubt is a no.

use crate::kinds::{Node, NodeRef};

/// Whether `node`, which has the name that a machine with this instance names, is the machine's.
///
/// Where both say which instance they have, nothing else counts: a Node that was registered anew has another uid and the same instance, and a
/// link that was made before the Node said so may be wrong. Otherwise it is the Node with that very uid; a name alone is nobody's proof.
pub(super) fn is_meant(named: &NodeRef, instance: Option<&str>, node: &Node) -> bool {
    match (instance, node.provider_id.as_deref()) {
        (Some(own), Some(there)) => own == there,
        _ => !named.uid.0.is_empty() && named.uid == node.meta.uid,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machinist_domain::key::Uid;

    use super::super::samples::node;
    use super::*;

    #[test]
    fn an_instance_says_whose_a_node_is_and_a_name_alone_does_not() {
        let cases = [
            ("uid-n", Some("p:///i-1"), Some("p:///i-1"), true),
            ("an older one", Some("p:///i-1"), Some("p:///i-1"), true),
            ("", Some("p:///i-1"), Some("p:///i-1"), true),
            ("uid-n", Some("p:///i-1"), Some("p:///i-2"), false),
            ("", Some("p:///i-1"), Some("p:///i-2"), false),
            ("uid-n", Some("p:///i-1"), None, true),
            ("uid-n", None, Some("p:///i-1"), true),
            ("uid-n", None, None, true),
            ("another", Some("p:///i-1"), None, false),
            ("", Some("p:///i-1"), None, false),
            ("", None, Some("p:///i-1"), false),
            ("", None, None, false),
        ];
        for (uid, own, there, expected) in cases {
            let mut node = Arc::unwrap_or_clone(node("True"));
            node.provider_id = there.map(Arc::from);
            let named = NodeRef { name: "n".into(), uid: Uid(uid.into()) };
            assert_eq!(is_meant(&named, own, &node), expected, "{uid:?} {own:?} {there:?}");
        }
    }
}
