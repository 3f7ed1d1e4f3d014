//! From what was observed to what to do.

use machinist_domain::capacity_annotations::assess;
use machinist_domain::retry::{Category, Failure};
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::Answer;
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use super::plan::{Plan, Truth};
use super::snapshot::{Cloud, Content, Snapshot};
use crate::kinds::Authority;

/// Decides. Time plays no part in it.
pub fn decide(snapshot: &Snapshot) -> Plan {
    if snapshot.meta.deleting {
        return Plan::Deleting;
    }
    let (set, cloud, catalogue) = match &snapshot.content {
        Content::Undecodable(reason) => {
            return Plan::Refuse(Refusal::Undecodable { reason: reason.clone() });
        }
        Content::Read { set, cloud, catalogue } => (set, cloud, *catalogue),
    };
    if snapshot.obey_migration && set.authority == Authority::Elsewhere {
        return Plan::Elsewhere;
    }
    let shape = match &set.shape {
        Ok(shape) => shape,
        Err(error) => return Plan::Refuse(Refusal::BadSpec(SpecError::clone(error))),
    };
    match known(cloud, catalogue) {
        Knowledge::Later => Plan::Wait,
        Knowledge::Never(refusal) => Plan::Refuse(refusal),
        Knowledge::NoSuchType => {
            let instance_type = shape.instance_type.to_string();
            Plan::Refuse(Refusal::UnknownType { instance_type })
        }
        Knowledge::Now(capacity, fallback) => Plan::Tell(Truth {
            assessment: assess(&set.annotations, shape, &capacity, snapshot.options),
            fallback,
            retry: match cloud {
                Cloud::NotFoundOut(failure) => Some(failure.retry),
                _ => None,
            },
        }),
    }
}

/// What is known of the machines of a set.
enum Knowledge {
    /// This, and why the catalogue had to say it.
    Now(Capacity, Option<Failure>),
    /// Somebody is asking.
    Later,
    /// There is no such type.
    NoSuchType,
    /// Nothing, until something changes.
    Never(Refusal),
}

/// The cloud's answer wins. The catalogue stands in where the cloud could not be asked; never where the object or its credentials are bad.
fn known(cloud: &Cloud, catalogue: Option<Capacity>) -> Knowledge {
    let no_region = || SpecError::Invalid { reason: "placement.region is missing".to_owned() };
    match cloud {
        Cloud::Off => catalogue.map_or(Knowledge::NoSuchType, |found| Knowledge::Now(found, None)),
        Cloud::NoRegion => Knowledge::Never(Refusal::BadSpec(no_region())),
        Cloud::NoSecret(key) => Knowledge::Never(Refusal::NoSecret(key.clone())),
        Cloud::NotFoundOut(failure) => match catalogue {
            Some(capacity) => Knowledge::Now(capacity, Some(failure.clone())),
            None => Knowledge::Never(Refusal::NotFoundOut(failure.clone())),
        },
        Cloud::Said(Answer::NotAsked) => Knowledge::Later,
        Cloud::Said(Answer::Absent) => Knowledge::NoSuchType,
        Cloud::Said(Answer::Present(capacity)) => Knowledge::Now(*capacity, None),
        Cloud::Said(Answer::Unknown(failure)) => match catalogue {
            Some(capacity) if failure.category != Category::InvalidConfiguration => {
                Knowledge::Now(capacity, Some(failure.clone()))
            }
            _ => Knowledge::Never(Refusal::CouldNotAsk(failure.clone())),
        },
    }
}

#[cfg(test)]
mod tests;
