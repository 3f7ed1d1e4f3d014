//! Decides what to write on one MachineSet. Pure.

use machinist_domain::capacity_annotations::assess;
use machinist_domain::retry::{Category, Failure};
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::ObservedCapacity;
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use super::plan::{Annotation, Plan, Reason};
use super::snapshot::{CloudAnswer, Content, Decoded, Snapshot};
use crate::kinds::Authority;

/// Decides. The time is irrelevant.
pub fn decide(snapshot: &Snapshot) -> Plan {
    if snapshot.meta.deleting {
        return Plan::NoOp(Reason::Deleting);
    }
    let set = match &snapshot.content {
        Content::Undecodable(reason) => {
            return Plan::Refuse(Refusal::Undecodable { reason: reason.clone() });
        }
        Content::Decoded(set) => set,
    };
    if snapshot.obey_migration && set.authority == Authority::Elsewhere {
        return Plan::NoOp(Reason::ManagedElsewhere);
    }
    let shape = match &set.shape {
        Ok(shape) => shape,
        Err(error) => return Plan::Refuse(Refusal::BadSpec(SpecError::clone(error))),
    };
    match known_capacity(set) {
        Known::Pending => Plan::NoOp(Reason::CapacityPending),
        Known::Never(refusal) => Plan::Refuse(refusal),
        Known::NoSuchType => Plan::Refuse(Refusal::UnknownType {
            instance_type: shape.instance_type.to_string(),
            provider: set.provider.unwrap_or_default(),
        }),
        Known::Now(capacity, fallback) => Plan::Annotate(Annotation {
            assessment: assess(&set.annotations, shape, &capacity, snapshot.options),
            fallback,
            retry: match &set.cloud {
                CloudAnswer::NoAccess(failure) => Some(failure.retry),
                _ => None,
            },
        }),
    }
}

/// What is known about the capacity of an instance type.
enum Known {
    /// The capacity, and the failure because of which it is the catalogue's.
    Now(Capacity, Option<Failure>),
    /// A request to the cloud is in progress.
    Pending,
    /// The provider has no such instance type.
    NoSuchType,
    /// Nothing, until the object or its surroundings change.
    Never(Refusal),
}

/// The cloud's answer takes precedence. The catalogue is the fallback where the cloud cannot be asked, but never for
/// an invalid object or invalid credentials: that would hide the mistake.
fn known_capacity(set: &Decoded) -> Known {
    match &set.cloud {
        CloudAnswer::NotSupported => {
            let provider = set.provider.unwrap_or_default();
            Known::Never(Refusal::NoCapacities { provider })
        }
        CloudAnswer::NotUsed => {
            set.catalogue.map_or(Known::NoSuchType, |capacity| Known::Now(capacity, None))
        }
        CloudAnswer::NoRegion => {
            let reason = "placement.region is missing".to_owned();
            Known::Never(Refusal::BadSpec(SpecError::Invalid { reason }))
        }
        CloudAnswer::NoSecret(key) => Known::Never(Refusal::NoSecret(key.clone())),
        CloudAnswer::NoAccess(failure) => match set.catalogue {
            Some(capacity) => Known::Now(capacity, Some(failure.clone())),
            None => Known::Never(Refusal::NoAccess(failure.clone())),
        },
        CloudAnswer::Answered(ObservedCapacity::NotAsked) => Known::Pending,
        CloudAnswer::Answered(ObservedCapacity::Absent) => Known::NoSuchType,
        CloudAnswer::Answered(ObservedCapacity::Present(capacity)) => Known::Now(*capacity, None),
        CloudAnswer::Answered(ObservedCapacity::Unknown(failure)) => match set.catalogue {
            Some(capacity) if failure.category != Category::InvalidConfiguration => {
                Known::Now(capacity, Some(failure.clone()))
            }
            _ => Known::Never(Refusal::CloudFailed(failure.clone())),
        },
    }
}

#[cfg(test)]
mod tests;
