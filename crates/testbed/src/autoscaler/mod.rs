//! cluster-autoscaler as far as it concerns machines: the rules of its provider `clusterapi` with
//! `CAPI_GROUP=machine.openshift.io`. It lists node groups, maps Nodes to them, and scales them as the original does;
//! *when* to scale is up to the test. Everything is read live, with the user's client.

mod act;
mod group;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};

use self::group::MACHINE_DEPLOYMENT;
pub use self::group::{NodeGroup, Template};
use crate::World;
use crate::world::reading::{is_alive, node_of};

const MACHINE_SET: &str = "MachineSet";
const LABEL_DEPLOYMENT: &str = "cluster.x-k8s.io/deployment-name";
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

#[derive(Debug)]
pub struct Autoscaler<'a> {
    world: &'a World,
}

/// An instance of a node group, as `Nodes()` reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instance {
    /// With the provider ID of its Machine, which must be the Node's to the letter.
    Running(String),
    Pending(String),
    Deleting(String),
    Failed(String),
}

impl<'a> Autoscaler<'a> {
    pub fn new(world: &'a World) -> Self {
        Self { world }
    }

    fn objects(&self, kind: &str) -> Api<DynamicObject> {
        if kind == MACHINE_DEPLOYMENT { self.world.deployments() } else { self.world.sets() }
    }

    pub async fn node_groups(&self) -> Result<Vec<NodeGroup>> {
        let mut groups = Vec::new();
        for kind in [MACHINE_SET, MACHINE_DEPLOYMENT] {
            for object in self.objects(kind).list(&ListParams::default()).await?.items {
                groups.extend(group::read(kind, &object)?);
            }
        }
        Ok(groups)
    }

    /// The only one; another number is an error.
    pub async fn node_group(&self) -> Result<NodeGroup> {
        let mut groups = self.node_groups().await?;
        ensure!(groups.len() == 1, "{groups:?}");
        groups.pop().context("a group")
    }

    /// By the selector; the owner is not checked.
    pub async fn instances(&self, group: &NodeGroup) -> Result<Vec<Instance>> {
        let selected = ListParams::default().labels(&group.selector);
        let machines = self.world.machines().list(&selected).await?.items;
        machines.iter().map(instance).collect()
    }

    /// The group of a Node: by provider ID to its Machine, from there by owners.
    pub async fn group_of(&self, node: &Node) -> Result<Option<NodeGroup>> {
        let Some(machine) = self.machine_of(node).await? else { return Ok(None) };
        let Some(set) = owner(&machine, MACHINE_SET) else { return Ok(None) };
        let set = self.world.sets().get(&set).await?;
        match owner(&set, MACHINE_DEPLOYMENT) {
            None => group::read(MACHINE_SET, &set),
            Some(name) => {
                let deployment = self.world.deployments().get(&name).await?;
                group::read(MACHINE_DEPLOYMENT, &deployment)
            }
        }
    }

    /// Whether old MachineSets of a deployment still have Machines. Its Nodes are no candidates for a scale-down then.
    pub async fn rolls(&self, deployment: &str) -> Result<bool> {
        let labelled = ListParams::default().labels(&format!("{LABEL_DEPLOYMENT}={deployment}"));
        let sets = self.world.sets().list(&labelled).await?.items;
        ensure!(!sets.is_empty(), "no MachineSet has the label of {deployment}");
        let revision = |set: &DynamicObject| -> Result<i64> {
            let text = set.annotations().get(REVISION).context("a revision")?;
            Ok(text.parse()?)
        };
        let revisions = sets.iter().map(revision).collect::<Result<Vec<_>>>()?;
        let latest = revisions.iter().max().copied();
        let old = sets.iter().zip(revisions).filter(|(_, revision)| Some(*revision) != latest);
        let count = |set: &DynamicObject, of: &str| set.data[of]["replicas"].as_i64().unwrap_or(0);
        Ok(old.map(|(set, _)| count(set, "spec") + count(set, "status")).sum::<i64>() > 0)
    }

    /// The last part of the provider ID identifies a Machine.
    async fn machine_of(&self, node: &Node) -> Result<Option<DynamicObject>> {
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
        let Some(id) = id.map(last_part) else { return Ok(None) };
        let of_node = |one: &DynamicObject| provider_id(one).map(last_part) == Some(id);
        Ok(self.world.all_machines().await?.into_iter().find(of_node))
    }
}

fn last_part(provider_id: &str) -> &str {
    provider_id.rsplit('/').next().unwrap_or_default()
}

fn provider_id(machine: &DynamicObject) -> Option<&str> {
    machine.data["spec"]["providerID"].as_str()
}

/// The group of the owner is not checked.
fn owner(object: &DynamicObject, kind: &str) -> Option<String> {
    let owners = object.owner_references().iter();
    owners.filter(|owner| owner.kind == kind).map(|owner| owner.name.clone()).next()
}

fn instance(machine: &DynamicObject) -> Result<Instance> {
    let name = machine.name_any();
    Ok(if machine.data["status"]["failureMessage"].is_string() {
        Instance::Failed(name)
    } else if !is_alive(machine) {
        Instance::Deleting(name)
    } else if node_of(machine).is_empty() {
        Instance::Pending(name)
    } else {
        Instance::Running(provider_id(machine).context("a provider ID")?.to_owned())
    })
}
