//! Decides what to write on one object. Pure.

use machinist_domain::capacity_annotations::assess;
use machinist_domain::retry::{Category, Failure};
use machinist_domain::shape::{Capacity, Shape};
use machinist_provider::capacity::ObservedCapacity;
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use super::plan::{Annotation, Plan, Reason};
use super::snapshot::{CloudAnswer, Decoded, Snapshot};
use crate::kinds::AsScalable;

pub(super) fn decide<T: AsScalable>(snapshot: &Snapshot<T>) -> Plan {
    if snapshot.meta.deleting {
        return Plan::NoOp(Reason::Deleting);
    }
    let decoded = match &snapshot.content {
        Err(reason) => return Plan::Refuse(Refusal::Undecodable(reason.clone())),
        Ok(decoded) => decoded,
    };
    let scalable = decoded.object.scalable();
    if scalable.of_deployment {
        return Plan::NoOp(Reason::OfDeployment);
    }
    if snapshot.obey_migration && scalable.managed_elsewhere {
        return Plan::NoOp(Reason::ManagedElsewhere);
    }
    let shape = match &scalable.shape {
        Ok(shape) => shape,
        Err(error) => return Plan::Refuse(Refusal::BadSpec(SpecError::clone(error))),
    };
    match known_capacity(decoded, shape) {
        Err(refusal) => Plan::Refuse(refusal),
        Ok(None) => Plan::NoOp(Reason::CapacityPending),
        Ok(Some((capacity, fallback))) => Plan::Annotate(Annotation {
            assessment: assess(&scalable.annotations, shape, &capacity, snapshot.options),
            fallback,
            retry: match &decoded.cloud {
                CloudAnswer::NoAccess(failure) => Some(failure.retry),
                _ => None,
            },
        }),
    }
}

/// The capacity, and why it is the catalogue's; `None` while a request is in progress. The catalogue is the fallback
/// where the cloud cannot be asked, but not for an invalid object or invalid credentials: it would hide the mistake.
fn known_capacity<T: AsScalable>(
    decoded: &Decoded<T>,
    shape: &Shape,
) -> Result<Option<(Capacity, Option<Failure>)>, Refusal> {
    let provider = decoded.object.scalable().provider.unwrap_or_default();
    let catalogue = decoded.catalogue;
    let instance_type = &shape.instance_type;
    let unknown_type =
        || Refusal::UnknownType { instance_type: instance_type.to_string(), provider };
    match &decoded.cloud {
        CloudAnswer::NotSupported => Err(Refusal::NoCapacities { provider }),
        CloudAnswer::NotUsed => {
            let capacity = catalogue.ok_or_else(unknown_type)?;
            Ok(Some((capacity, None)))
        }
        CloudAnswer::NoRegion => {
            let reason = crate::cloud_access::messages::NO_REGION.to_owned();
            Err(Refusal::BadSpec(SpecError::Invalid { reason }))
        }
        CloudAnswer::NoSecret(key) => Err(Refusal::NoSecret(key.clone())),
        CloudAnswer::NoAccess(failure) => match catalogue {
            Some(capacity) => Ok(Some((capacity, Some(failure.clone())))),
            None => Err(Refusal::NoAccess(failure.clone())),
        },
        CloudAnswer::Answered(ObservedCapacity::NotAsked) => Ok(None),
        CloudAnswer::Answered(ObservedCapacity::Absent) => Err(unknown_type()),
        CloudAnswer::Answered(ObservedCapacity::Present(capacity)) => Ok(Some((*capacity, None))),
        CloudAnswer::Answered(ObservedCapacity::Unknown(failure)) => match catalogue {
            Some(capacity) if failure.category != Category::InvalidConfiguration => {
                Ok(Some((capacity, Some(failure.clone()))))
            }
            _ => Err(Refusal::CloudFailed(failure.clone())),
        },
    }
}

#[cfg(test)]
mod tests;
