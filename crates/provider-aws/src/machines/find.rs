//! Looking for the instances of machines: many machines in few calls.
//!
//! First by the ids that are stored, then by the uid that our own instances carry, then by name and cluster, for machines of which nothing
//! is stored: another controller may have made an instance and died before it could say so.

use std::collections::{BTreeMap, HashMap, HashSet};

use machinist_provider::cloud::MachineRef;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;

use super::calls::filter;
use super::found::Found;
use super::launch::known_id;
use super::sight::is_own;
use super::tags::cluster_tag;
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// The most values that EC2 takes in one filter.
const ASKED_TOGETHER: usize = 200;

/// How much to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The instance that counts: who is found by its id is not looked for by anything else.
    Current,
    /// Everything that was ever made for the machines.
    All,
}

/// What was found for some machines.
#[derive(Debug, Default)]
pub(super) struct Finds(Vec<Found>);

impl Finds {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Found> {
        self.0.iter()
    }

    fn add(&mut self, found: Vec<Found>) {
        let known: HashSet<_> = self.0.iter().map(|found| found.id.clone()).collect();
        self.0.extend(found.into_iter().filter(|found| !known.contains(&found.id)));
    }

    fn has(&self, machine: &MachineRef) -> bool {
        self.0.iter().any(|found| known_id(machine) == Some(&found.id))
    }

    /// What was found, by machine: its own, and what it only says is its own.
    pub(super) fn index(&self) -> Index<'_> {
        let mut index = Index::default();
        for found in &self.0 {
            index.ids.insert(&found.id, found);
            if let Some(uid) = found.tag(TAG_MACHINE_UID) {
                index.uids.entry(uid).or_default().push(found);
            } else if let Some(name) = found.tag("Name") {
                index.names.entry(name).or_default().push(found);
            }
        }
        index
    }
}

/// What was found, so that the part of each machine is quick to find in it.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    ids: HashMap<&'a str, &'a Found>,
    uids: HashMap<&'a str, Vec<&'a Found>>,
    names: HashMap<&'a str, Vec<&'a Found>>,
}

impl<'a> Index<'a> {
    /// The machine's own instances.
    pub(super) fn own(&self, machine: &MachineRef) -> Vec<&'a Found> {
        let named = known_id(machine).and_then(|id| self.ids.get(id)).into_iter();
        let marked = self.uids.get(&*machine.uid.0).into_iter().flatten();
        let called = self.names.get(&*machine.key.name).into_iter().flatten();
        let mut seen = HashSet::new();
        named
            .chain(marked)
            .chain(called)
            .copied()
            .filter(|found| is_own(found, machine) && seen.insert(&found.id))
            .collect()
    }

    /// The instance that a machine says is its own, and that is not.
    pub(super) fn foreign(&self, machine: &MachineRef) -> Option<&'a Found> {
        let found = *self.ids.get(known_id(machine)?)?;
        (!is_own(found, machine)).then_some(found)
    }
}

/// Looks for the instances of machines of one realm.
pub(super) async fn find(
    ec2: &Ec2,
    machines: &[&MachineRef],
    depth: Depth,
) -> Result<Finds, AwsError> {
    let mut finds = Finds::default();
    let ids: Vec<_> = machines.iter().filter_map(|machine| known_id(machine)).collect();
    for ids in ids.chunks(ASKED_TOGETHER) {
        finds.add(ec2.instances(vec![filter("instance-id", ids.iter().copied())]).await?);
    }
    let rest: Vec<_> = machines
        .iter()
        .filter(|machine| depth == Depth::All || !finds.has(machine))
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

/// The names of machines of which nothing is stored, by cluster. Whoever made an instance for one went by the Machine's label, and on OpenShift by what
/// is the cluster's identity, too.
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
