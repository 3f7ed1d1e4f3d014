//! Capacities from EC2: one list of types per region in the manifests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use machinist_domain::shape::{Capacity, Shape};

use crate::aws::listed_types;

#[derive(Debug, Default)]
pub(super) struct Regions(Mutex<BTreeSet<Arc<str>>>);

#[derive(Debug)]
pub(super) struct Answers(BTreeMap<Arc<str>, HashMap<String, Capacity>>);

impl Regions {
    pub(super) fn note(&self, shape: &Shape) -> Option<Capacity> {
        if let Some(region) = &shape.region {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(region));
        }
        None
    }

    pub(super) fn ask(self) -> anyhow::Result<Answers> {
        let regions = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut answers = BTreeMap::new();
        for region in regions {
            let listed = listed_types(&region).with_context(|| failed(&region))?;
            let types = listed.iter().map(|facts| (facts.name.to_string(), facts.capacity()));
            answers.insert(region, types.collect());
        }
        Ok(Answers(answers))
    }
}

fn failed(region: &str) -> String {
    format!(
        "--source ec2: {region}, with the credentials of the environment (AWS_ACCESS_KEY_ID or AWS_PROFILE), of \
         ~/.aws, or of this instance"
    )
}

impl Answers {
    /// The capacity; `None` if EC2 does not list the type, or the spec has no region.
    pub(super) fn capacity(&self, shape: &Shape) -> Option<Capacity> {
        self.0.get(shape.region.as_ref()?)?.get(&*shape.instance_type).copied()
    }
}
