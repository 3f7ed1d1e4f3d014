//! Finds the instances of many machines with few calls.
//!
//! By stored id, then by the uid tag, then by name and cluster for machines without stored state: another controller
//! may have created an instance and stopped before storing it.

use std::collections::{BTreeMap, HashMap, HashSet};

use machinist_provider::cloud::MachineRef;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::calls::filter;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance::is_own;
use crate::machines::launch::known_id;
use crate::machines::tags::cluster_tag;

/// The maximum number of values in one filter.
const ASKED_TOGETHER: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The current instance: a machine found by id is not searched by tags.
    Current,
    /// Everything that was ever created for the machines.
    All,
}

#[derive(Debug, Default)]
pub(crate) struct SearchResult(Vec<Ec2Instance>);

impl SearchResult {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ec2Instance> {
        self.0.iter()
    }

    fn add(&mut self, found: Vec<Ec2Instance>) {
        let known: HashSet<_> = self.0.iter().map(|found| found.id.clone()).collect();
        self.0.extend(found.into_iter().filter(|found| !known.contains(&found.id)));
    }

    fn has(&self, machine: &MachineRef) -> bool {
        self.0.iter().any(|found| known_id(machine) == Some(&found.id))
    }

    pub(crate) fn index(&self) -> Index<'_> {
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

#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    ids: HashMap<&'a str, &'a Ec2Instance>,
    uids: HashMap<&'a str, Vec<&'a Ec2Instance>>,
    names: HashMap<&'a str, Vec<&'a Ec2Instance>>,
}

impl<'a> Index<'a> {
    pub(crate) fn own(&self, machine: &MachineRef) -> Vec<&'a Ec2Instance> {
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

    /// The instance that a machine names, but does not own.
    pub(crate) fn foreign(&self, machine: &MachineRef) -> Option<&'a Ec2Instance> {
        let found = *self.ids.get(known_id(machine)?)?;
        (!is_own(found, machine)).then_some(found)
    }
}

pub(crate) async fn find(
    ec2: &Ec2,
    machines: &[&MachineRef],
    depth: Depth,
) -> Result<SearchResult, AwsError> {
    let mut finds = SearchResult::default();
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

/// The names of machines without stored state, by cluster. The other controller may have used any name of the cluster.
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
