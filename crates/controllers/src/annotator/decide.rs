//! From what was observed to what to do.

use machinist_api::names;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::labels;
use machinist_domain::shape::Capacity;

use super::error::Refusal;
use super::plan::Plan;
use super::snapshot::{Content, Snapshot};
use crate::kinds::CapacityAnnotations;

/// Decides. Time plays no part in it.
pub fn decide(snapshot: &Snapshot) -> Plan {
    if snapshot.meta.deleting {
        return Plan::Deleting;
    }
    let (set, capacity) = match &snapshot.content {
        Content::Undecodable(reason) => {
            return Plan::Refuse(Refusal::Undecodable { reason: reason.clone() });
        }
        Content::Read { set, capacity } => (set, capacity),
    };
    match (&set.shape, capacity) {
        (Err(error), _) => Plan::Refuse(Refusal::BadSpec(error.clone())),
        (Ok(shape), None) => {
            let instance_type = shape.instance_type.to_string();
            Plan::Refuse(Refusal::UnknownType { instance_type })
        }
        (Ok(_), Some(capacity)) => {
            let change = difference(&set.annotations, capacity);
            if change.is_empty() { Plan::Settled } else { Plan::Annotate(change) }
        }
    }
}

fn difference(current: &CapacityAnnotations, capacity: &Capacity) -> AnnotationChange {
    let mut change = AnnotationChange::default();
    let vcpus = capacity.vcpus.to_string();
    change.want(names::ANNOTATION_VCPU, current.vcpu.as_deref(), &vcpus);
    let memory = capacity.memory_mib.to_string();
    change.want(names::ANNOTATION_MEMORY, current.memory.as_deref(), &memory);
    let gpus = capacity.gpus.to_string();
    change.want(names::ANNOTATION_GPU, current.gpu.as_deref(), &gpus);
    let architecture = capacity.architecture.as_str();
    let current = current.labels.as_deref();
    if let Some(merged) = labels::with_pair(current.unwrap_or(""), names::LABEL_ARCH, architecture)
    {
        change.want(names::ANNOTATION_CAPACITY_LABELS, current, &merged);
    }
    change
}

#[cfg(test)]
mod tests;
