//! Finds instances by stored id, then by the uid tag, then by name and cluster for machines without stored state:
//! another controller may have created an instance and stopped before storing it.

use std::collections::{BTreeMap, HashSet};

use machinist_provider::cloud::MachineRef;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::calls::filter;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance::{current, is_own};
use crate::machines::launch::known_id;
use crate::machines::tags::cluster_tag;

const ASKED_TOGETHER: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The current instance: a machine found by id is not searched by tags.
    Current,
    /// Everything that was ever created for the machines.
    All,
}

#[derive(Debug, Default)]
pub(crate) struct Found(pub(crate) Vec<Ec2Instance>);

impl Found {
    fn add(&mut self, found: Vec<Ec2Instance>) {
        let known: HashSet<_> = self.0.iter().map(|found| found.id.clone()).collect();
        self.0.extend(found.into_iter().filter(|found| !known.contains(&found.id)));
    }

    fn named(&self, machine: &MachineRef) -> Option<&Ec2Instance> {
        let id = known_id(machine)?;
        self.0.iter().find(|found| found.id == id)
    }

    pub(crate) fn own(&self, machine: &MachineRef) -> Vec<&Ec2Instance> {
        self.0.iter().filter(|found| is_own(found, machine)).collect()
    }

    pub(crate) fn current(&self, machine: &MachineRef) -> Option<&Ec2Instance> {
        current(&self.own(machine), machine)
    }

    /// The instance that a machine names, but does not own.
    pub(crate) fn foreign(&self, machine: &MachineRef) -> Option<&Ec2Instance> {
        self.named(machine).filter(|found| !is_own(found, machine))
    }
}

pub(crate) async fn find(
    ec2: &Ec2,
    machines: &[&MachineRef],
    depth: Depth,
) -> Result<Found, AwsError> {
    let mut finds = Found::default();
    let ids: Vec<_> = machines.iter().filter_map(|machine| known_id(machine)).collect();
    for ids in ids.chunks(ASKED_TOGETHER) {
        finds.add(ec2.instances(vec![filter("instance-id", ids.iter().copied())]).await?);
    }
    let rest: Vec<_> = machines
        .iter()
        .filter(|machine| depth == Depth::All || finds.named(machine).is_none())
        .map(|machine| &*machine.uid.0)
        .collect();
    for some in rest.chunks(ASKED_TOGETHER) {
        let tag = format!("tag:{TAG_MACHINE_UID}");
        finds.add(ec2.instances(vec![filter(tag, some.iter().copied())]).await?);
    }
    for (cluster, names) in untouched(machines) {
        for names in names.chunks(ASKED_TOGETHER) {
            let name = filter("tag:Name", names.iter().copied());
            let cluster = filter(format!("tag:{}", cluster_tag(cluster)), ["owned"]);
            finds.add(ec2.instances(vec![name, cluster]).await?);
        }
    }
    Ok(finds)
}

/// The names of machines without stored state, by cluster.
fn untouched<'a>(machines: &[&'a MachineRef]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut names: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for machine in machines {
        if machine.status.attempt().is_none() && known_id(machine).is_none() {
            for cluster in machine.clusters() {
                names.entry(cluster).or_default().push(&*machine.key.name);
            }
        }
    }
    names
}
