use crate::kinds::{Node, NodeRef};

/// A Machine's own Node is drained and deleted; an unclear one is neither, until it is identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeMatch {
    Ours,
    Other,
    /// It has the name, another uid, and no provider ID yet.
    Unclear,
}

/// `node` has the referenced name. If both have a provider ID, only that counts: a Node that registers again has
/// another uid on the same instance, and a link from before the Node had its provider ID may be wrong. Otherwise the
/// uid counts.
pub(crate) fn match_node(named: &NodeRef, instance: Option<&str>, node: &Node) -> NodeMatch {
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
    fn matches_by_provider_id_or_uid_and_not_by_name_alone() {
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
