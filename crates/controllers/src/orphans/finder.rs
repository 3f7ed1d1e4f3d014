//! Lists the instances of this cluster and reads the Machines and Nodes that may need them. All reads are live.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use machinist_api::resource::{MACHINE_SETS, MACHINES, NODES};
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::EffectKind;
use machinist_domain::shape::Shape;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, Deletion, ErrorClass, Owned, Reach};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{CloudCall, CloudWriteError, Writer};

use super::messages;
use super::places::{Place, Places, Unchecked};
use super::verdict::Verdict;
use super::view::{Doubt, KnownMachine, KnownNode, View};
use crate::cloud_access::{CloudAccessResolver, SecretScope};
use crate::clouds::Clouds;
use crate::clouds::cluster_identity::ClusterIdentity;
use crate::kinds::{MachineSets, Machines, NoState, Nodes};
use crate::openshift::OpenShift;

#[derive(Debug, Clone)]
pub struct Settings {
    pub clouds: Clouds,
    /// The name of the cluster in tags, unless OpenShift sets one; the uid of `kube-system` if `None`.
    pub cluster_id: Option<Arc<str>>,
    pub secrets: SecretScope,
}

#[derive(Debug)]
pub struct Finder {
    shared: Arc<Shared>,
    clouds: Clouds,
    identity: ClusterIdentity,
    access: CloudAccessResolver<Machines>,
    machines: Arc<Cache<Machines>>,
    sets: Arc<Cache<MachineSets<NoState>>>,
    nodes: Option<Arc<Cache<Nodes>>>,
}

/// A listed instance, and where it was listed.
#[derive(Debug, Clone)]
pub struct Listed {
    pub provider: &'static str,
    pub reach: Arc<Reach>,
    pub owned: Owned,
}

/// What was found, at one time.
#[derive(Debug)]
pub struct Survey {
    /// Each instance once, by its id.
    pub instances: Vec<Listed>,
    pub unchecked: Vec<Unchecked>,
    pub view: View,
}

impl Finder {
    /// Sends nothing.
    pub fn new(
        shared: &Arc<Shared>,
        machines: Machines,
        sets: MachineSets<NoState>,
        settings: Settings,
    ) -> Self {
        let (caches, control) = (&shared.caches, &shared.control);
        let machines = caches.unwatched(control, shared.scope.clone(), machines);
        let sets = caches.unwatched(control, shared.scope.clone(), sets);
        let target = shared.target.as_ref();
        let nodes = target.map(|target| caches.unwatched(target, Scope::All, Nodes));
        let openshift = OpenShift::new(shared);
        let access =
            CloudAccessResolver::new(shared, &openshift, settings.secrets, &machines, |machine| {
                machine.shape().ok()
            });
        let session = control.session(UserAgent::START);
        let identity = ClusterIdentity::new(session, settings.cluster_id);
        let (shared, clouds) = (Arc::clone(shared), settings.clouds);
        Self { shared, clouds, identity, access, machines, sets, nodes }
    }

    /// Lists every access in use once, and reads Machines and Nodes after that. An error is about the Machines.
    pub async fn survey(&self) -> Result<Survey, ApiError> {
        self.machines.verify().await?;
        let sets = self.sets.verify().await;
        let mut places = Places::of(&self.clouds, &self.machines, &self.sets);
        let mut unchecked = std::mem::take(&mut places.unchecked);
        if let Err(error) = sets
            && error.code() != Some(404)
        {
            unchecked.push(Unchecked { what: MACHINE_SETS.to_string(), why: error.to_string() });
        }
        let cluster = self.identity.get().await?;
        let as_of = self.shared.clock.now();
        let mut instances: HashMap<Arc<str>, Listed> = HashMap::new();
        for (provider, access) in self.accesses(places.found, &mut unchecked).await {
            let reach = Reach { access, cluster: Arc::clone(&cluster) };
            match self.list(provider, &reach).await {
                Ok(listed) => {
                    let reach = Arc::new(reach);
                    for owned in listed {
                        let id = Arc::clone(&owned.instance.provider_id);
                        let listed = Listed { provider, reach: Arc::clone(&reach), owned };
                        instances.entry(id).or_insert(listed);
                    }
                }
                Err(error) => {
                    let why = error.message;
                    unchecked.push(Unchecked::unlisted(provider, &reach.access, why));
                }
            }
        }
        let view = View { as_of, ..self.view().await? };
        let mut instances: Vec<_> = instances.into_values().collect();
        instances.sort_by(|a, b| a.order().cmp(&b.order()));
        unchecked.sort();
        Ok(Survey { instances, unchecked, view })
    }

    /// Machines and Nodes as they are now.
    pub async fn view(&self) -> Result<View, ApiError> {
        let cluster = self.identity.get().await?;
        let as_of = self.shared.clock.now();
        let (mut machines, mut undecodable, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(namespace) = self.shared.scope.namespace() {
            doubts.push(Doubt::OneNamespace(namespace.to_owned()));
        }
        self.machines.verify().await?;
        self.machines.survey(|_, all| {
            for entry in all {
                match entry {
                    Entry::Known(machine) => machines.push(KnownMachine::of(machine)),
                    Entry::Undecodable(object) => {
                        let meta = &object.meta;
                        let (kind, key) = (MACHINES.kind, meta.key.clone());
                        doubts.push(Doubt::Undecodable { kind, key: key.clone() });
                        undecodable.push((key, meta.uid.clone()));
                    }
                }
            }
        });
        let nodes = self.nodes(&mut doubts).await;
        Ok(View { cluster, machines, undecodable, nodes, as_of, doubts })
    }

    async fn nodes(&self, doubts: &mut Vec<Doubt>) -> Vec<KnownNode> {
        let kind = NODES.kind;
        let mut nodes = Vec::new();
        let Some(cache) = &self.nodes else {
            doubts.push(Doubt::NotRead { kind, why: messages::NO_TARGET.to_owned() });
            return nodes;
        };
        if let Err(error) = cache.verify().await {
            doubts.push(Doubt::NotRead { kind, why: error.to_string() });
            return nodes;
        }
        cache.survey(|_, all| {
            for entry in all {
                match entry {
                    Entry::Known(node) => nodes.push(KnownNode::of(node)),
                    Entry::Undecodable(object) => {
                        let key = object.meta.key.clone();
                        doubts.push(Doubt::Undecodable { kind, key });
                    }
                }
            }
        });
        nodes
    }

    /// Every access once.
    async fn accesses(
        &self,
        places: HashMap<Place, Shape>,
        unchecked: &mut Vec<Unchecked>,
    ) -> HashSet<(&'static str, CloudAccess)> {
        let mut accesses = HashSet::new();
        for (place, shape) in places {
            let Some(cloud) = self.clouds.of(place.provider) else {
                unchecked.push(Unchecked::without_cloud(&place));
                continue;
            };
            let service = cloud.endpoint_service();
            match self.access.resolve(&place.namespace, &shape, service).await {
                Ok(access) => drop(accesses.insert((place.provider, access))),
                Err(error) => unchecked.push(Unchecked::unresolved(&place, error)),
            }
        }
        accesses
    }

    async fn list(&self, provider: &'static str, reach: &Reach) -> Result<Vec<Owned>, CloudError> {
        let Some(cloud) = self.clouds.of(provider) else { return Ok(Vec::new()) };
        let limit = self.shared.timings.cloud_call;
        match tokio::time::timeout(limit, cloud.list(reach)).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(CloudError::new(ErrorClass::Unavailable, ApiError::TimedOut(limit).to_string()))
            }
        }
    }

    /// Deletes an orphan, or continues its deletion. `None` in a dry run.
    pub async fn delete(
        &self,
        orphan: &Listed,
        why: &Verdict,
        writer: &Writer,
    ) -> Result<Option<Deletion>, CloudWriteError<CloudError>> {
        let Some(cloud) = self.clouds.of(orphan.provider) else { return Ok(None) };
        let id = &orphan.owned.instance.id;
        let key = ObjectKey::new("", Arc::clone(id));
        let (provider, effect) = (orphan.provider, EffectKind::CloudDelete);
        let call = CloudCall { provider, verb: "delete", effect, key: &key };
        let plan = messages::deletion(id, why);
        let work = cloud.delete_orphan(&orphan.reach, &orphan.owned);
        writer.change_cloud(call, &plan, work).await
    }
}

impl Listed {
    fn order(&self) -> (Option<jiff::Timestamp>, &str) {
        (self.owned.created, &self.owned.instance.id)
    }

    /// Provider, region and credentials, in words.
    pub fn place(&self) -> String {
        super::places::description(self.provider, &self.reach.access)
    }
}
