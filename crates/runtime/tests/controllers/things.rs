//! A kind with a status, made for these tests, and a writer without a controller.

use std::sync::Arc;

use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::resource::Resource;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::{Kind, Stored};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::Manager;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::world::{ToyWorld, control_plane};

const THINGS: Resource =
    Resource { group: "test.machinist.dev", version: "v1", plural: "things", kind: "Thing" };

/// A thing: whether it was seen, and how often it was painted.
pub(crate) struct Thing {
    pub(crate) meta: Meta,
    pub(crate) colour: Option<String>,
    pub(crate) seen: Option<String>,
}

impl Stored for Thing {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Wire {
    metadata: machinist_api::wire::Metadata,
    spec: Option<Value>,
    status: Option<Value>,
}

pub(crate) struct Things;

impl Kind for Things {
    type Wire = Wire;
    type Stored = Thing;
    const RESOURCE: Resource = THINGS;

    fn project(&self, wire: Wire) -> Thing {
        let text = |part: Option<Value>, field: &str| Some(part?.get(field)?.as_str()?.to_owned());
        Thing {
            meta: Meta::of(&wire.metadata),
            colour: text(wire.spec, "colour"),
            seen: text(wire.status, "seen"),
        }
    }
}

/// Installs the kind, once for all tests.
pub(crate) async fn install() {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.test.machinist.dev"},
        "spec": {
            "group": "test.machinist.dev",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": open, "status": open}}},
            }],
        },
    });
    INSTALLED
        .get_or_init(|| async {
            control_plane().await.install_crds(&definition.to_string()).await.unwrap();
        })
        .await;
}

/// A writer and a cache of things, without a controller.
pub(crate) struct Desk {
    pub(crate) world: ToyWorld,
    pub(crate) cache: Arc<Cache<Things>>,
    pub(crate) writer: Writer,
    /// A client that bypasses the proxy.
    pub(crate) people: Api<DynamicObject>,
    kind: ApiResource,
    _manager: Manager,
}

impl Desk {
    /// `prepare` adds proxy rules before the watch is opened.
    pub(crate) async fn new(name: &str, prepare: impl FnOnce(&ToyWorld)) -> Self {
        install().await;
        let world = ToyWorld::new(name).await;
        prepare(&world);
        let manager = world.manager(world.options());
        let shared = manager.shared();
        let scope = Scope::Namespace(world.namespace.clone());
        let cache = shared.caches.open(&shared.control, scope, Things);
        cache.wait_synced().await;
        let writer = Writer::new(
            shared.gateway.clone(),
            shared.control.session(UserAgent::of("machine")),
            "test",
            Leadership::NotNeeded,
        );
        let gvk = kube::core::GroupVersionKind::gvk(THINGS.group, THINGS.version, THINGS.kind);
        let kind = ApiResource::from_gvk_with_plural(&gvk, THINGS.plural);
        let people = Api::namespaced_with(world.client.clone(), &world.namespace, &kind);
        Self { world, cache, writer, people, kind, _manager: manager }
    }

    pub(crate) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.world.namespace.as_str(), name)
    }

    /// Another client creates a thing; returns its metadata.
    pub(crate) async fn given(&self, name: &str, finalizers: &[&str]) -> Meta {
        let thing = DynamicObject::new(name, &self.kind).data(json!({"spec": {"colour": "red"}}));
        let mut thing = thing;
        thing.metadata.finalizers = Some(finalizers.iter().map(|&text| text.to_owned()).collect());
        meta_of(&self.people.create(&PostParams::default(), &thing).await.unwrap())
    }

    /// Another client changes a thing.
    pub(crate) async fn painted(&self, name: &str, colour: &str) -> Meta {
        let patch = Patch::Merge(json!({"spec": {"colour": colour}}));
        meta_of(&self.people.patch(name, &PatchParams::default(), &patch).await.unwrap())
    }

    /// Another client recreates a thing.
    pub(crate) async fn replaced(&self, name: &str) -> Meta {
        self.people.delete(name, &DeleteParams::default()).await.unwrap();
        self.given(name, &[]).await
    }

    /// The thing in the API server.
    pub(crate) async fn truth(&self, name: &str) -> Option<DynamicObject> {
        self.people.get_opt(name).await.unwrap()
    }

    pub(crate) fn cached(&self, name: &str) -> Option<Arc<Thing>> {
        known(self.cache.get(&self.key(name)))
    }

    /// The thing in the cache, or a live read if uncertain.
    pub(crate) async fn certain(&self, name: &str) -> Option<Arc<Thing>> {
        known(self.cache.get_certain(&self.key(name)).await.unwrap())
    }
}

fn known(entry: Option<Entry<Thing>>) -> Option<Arc<Thing>> {
    entry.map(|entry| match entry {
        Entry::Known(thing) => thing,
        Entry::Undecodable(object) => panic!("{}", object.error),
    })
}

fn meta_of(object: &DynamicObject) -> Meta {
    Meta {
        key: ObjectKey::new(object.namespace().unwrap(), object.name_any()),
        uid: Uid(object.uid().unwrap().into()),
        version: machinist_domain::key::Version::parse(&object.resource_version().unwrap()),
        deleting: object.metadata.deletion_timestamp.is_some(),
    }
}
