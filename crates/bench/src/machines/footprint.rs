//! The types and the sharing between objects decide it, so it is the same on every machine. Not in it: the tables of
//! stores and indexes, and what the real allocator adds.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use machinist_api::resource::{MACHINES, NODES};
use machinist_controllers::kinds::{Machines, Nodes};
use machinist_provider_sim::spec::SimSpecs;
use machinist_runtime::cache::kind::Kind;
use serde_json::value::RawValue;

use crate::raw::Bare;
use crate::statistics::count;

/// Bytes for each object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footprint {
    pub(super) machine: f64,
    pub(super) node: f64,
}

impl Footprint {
    pub(super) async fn read(setup: &Bare) -> Result<Self> {
        let machines: Vec<Box<RawValue>> = setup.list(MACHINES.collection_path(None)).await?;
        let nodes: Vec<Box<RawValue>> = setup.list(NODES.collection_path(None)).await?;
        ensure!(!machines.is_empty() && !nodes.is_empty(), "there is nothing to store");
        // The Machines stay meanwhile: Nodes share words with them.
        let (_stored, machine) = store(&Machines::new(Arc::new(SimSpecs)), &machines)?;
        let (_, node) = store(&Nodes, &nodes)?;
        println!("  stored: {machine:.0} bytes for each Machine, {node:.0} for each Node");
        Ok(Self { machine, node })
    }
}

fn store<K: Kind>(kind: &K, objects: &[Box<RawValue>]) -> Result<(Vec<Arc<K::Stored>>, f64)> {
    let mut stored = Vec::with_capacity(objects.len());
    let mut result = Ok(());
    let counted = allocation_counter::measure(|| {
        result = objects.iter().try_for_each(|raw| {
            stored.push(Arc::new(kind.project(serde_json::from_str(raw.get())?)));
            serde_json::Result::Ok(())
        });
    });
    result.context("an object that cannot be decoded")?;
    let bytes = usize::try_from(counted.bytes_current).context("less than before")?;
    Ok((stored, count(bytes) / count(objects.len())))
}
