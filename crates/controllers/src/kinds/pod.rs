//! Pods as the caches store them: their Node and nothing else, because a cluster has many.

use std::sync::Arc;

use machinist_api::resource::{PODS, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind;

use super::interner::name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub meta: Meta,
    /// Its Node; `None` before it is scheduled.
    pub node: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Pods;

impl Kind for Pods {
    type Wire = wire::PlacedPod;
    type Stored = Pod;
    const RESOURCE: Resource = PODS;

    fn project(&self, wire: wire::PlacedPod) -> Pod {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.namespace = name(&*meta.key.namespace);
        let node = wire.spec.node_name.filter(|name| !name.is_empty());
        Pod { meta, node: node.map(name) }
    }
}
