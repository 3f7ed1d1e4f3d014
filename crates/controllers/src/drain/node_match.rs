//! Whether a Node is the one that a machine names. What is ours is drained, and deleted with the machine; what is not clear is neither, but
//! somebody who wants to drain has to look again.

use crate::kinds::{Node, NodeRef};

/// Whose a Node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeMatch {
    /// The machine's.
    Ours,
    /// That of somebody else.
    Other,
    /// It has the right name, was registered anew, and does not say yet on which instance.
    Unclear,
}

/// Whose `node` is, which has the name that a machine with this instance names.
///
/// Where both say which instance they have, nothing else counts: a Node that was registered anew has another uid and the same instance, and a
/// link that was made before the Node said so may be wrong. Otherwise it is the Node with that very uid; a name alone is nobody's proof.
pub fn match_node(named: &NodeRef, instance: Option<&str>, node: &Node) -> NodeMatch {
    let same_uid = !named.uid.0.is_empty() && named.uid == node.meta.uid;
    match (instance, node.provider_id.as_deref()) {
        (Some(own), Some(there)) if own == there => NodeMatch::Ours,
        (Some(_), Some(_)) => NodeMatch::Other,
        _ if same_uid => NodeMatch::Ours,
        (_, None) => NodeMatch::Unclear,
        (None, Some(_)) => NodeMatch::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machinist_domain::key::Uid;

    use super::*;
    use crate::machine::samples::node;

    #[test]
    fn an_instance_says_whose_a_node_is_and_a_name_alone_does_not() {
        use NodeMatch::{Other, Ours, Unclear};
        let cases = [
            ("uid-n", Some("p:///i-1"), Some("p:///i-1"), Ours),
            ("an older one", Some("p:///i-1"), Some("p:///i-1"), Ours),
            ("", Some("p:///i-1"), Some("p:///i-1"), Ours),
            ("uid-n", Some("p:///i-1"), Some("p:///i-2"), Other),
            ("", Some("p:///i-1"), Some("p:///i-2"), Other),
            ("uid-n", Some("p:///i-1"), None, Ours),
            ("uid-n", None, Some("p:///i-1"), Ours),
            ("uid-n", None, None, Ours),
            ("an older one", Some("p:///i-1"), None, Unclear),
            ("an older one", None, None, Unclear),
            ("an older one", None, Some("p:///i-1"), Other),
            ("", Some("p:///i-1"), None, Unclear),
            ("", None, Some("p:///i-1"), Other),
            ("", None, None, Unclear),
        ];
        for (uid, own, there, expected) in cases {
            let mut node = Arc::unwrap_or_clone(node("True"));
            node.provider_id = there.map(Arc::from);
            let named = NodeRef { name: "n".into(), uid: Uid(uid.into()) };
            assert_eq!(match_node(&named, own, &node), expected, "{uid:?} {own:?} {there:?}");
        }
    }
}
