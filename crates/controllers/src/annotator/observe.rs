//! Fills a snapshot from the caches; live where an own write may not be in the cache. Never waits for the cloud.

use std::sync::Arc;

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_provider::capacity::{CapacitySource, Question};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Annotator;
use super::snapshot::{CloudAnswer, Decoded, Snapshot};
use crate::cloud_access::CloudAccessError;
use crate::kinds::{MachineSet, State};
use crate::migration::Gate;

pub(super) async fn observe<S: State>(
    annotator: &Annotator<S>,
    key: &ObjectKey,
) -> Result<Option<Snapshot<S>>, ApiError> {
    annotator.release_secrets(key);
    let Some(entry) = annotator.sets.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let mut obey_migration = false;
    let content = match entry {
        Entry::Undecodable(object) => Err(object.error.clone()),
        Entry::Known(set) => {
            obey_migration = obeys_migration(annotator, &set).await;
            Ok(decoded(annotator, set, obey_migration).await)
        }
    };
    let arch_only_labels = annotator.rival.is_alive().await;
    let options = Options { arch_only_labels, ..annotator.settings.options };
    Ok(Some(Snapshot { meta, content, options, obey_migration }))
}

/// Annotations do no harm, so a gate that is not known delays none: only a set that names the other API is left alone.
async fn obeys_migration<S: State>(annotator: &Annotator<S>, set: &MachineSet<S>) -> bool {
    match annotator.migration.get().await {
        Ok(Gate::Off) => false,
        Ok(Gate::On) => true,
        Ok(Gate::Forbidden) | Err(_) => set.names_authority,
    }
}

async fn decoded<S: State>(
    annotator: &Annotator<S>,
    set: Arc<MachineSet<S>>,
    obey_migration: bool,
) -> Decoded<S> {
    let capacities = set.provider.and_then(|name| annotator.settings.capacities.get(name));
    let catalogue = capacities.and_then(|capacities| capacities.catalogue);
    let cloud = capacities.and_then(|capacities| capacities.cloud.as_deref());
    // `decide` ignores these sets, so no request is made for them.
    let elsewhere = obey_migration && set.managed_elsewhere;
    let cloud = match cloud {
        None if catalogue.is_none() => CloudAnswer::NotSupported,
        Some(cloud) if !set.meta.deleting && !elsewhere => ask(annotator, cloud, &set).await,
        _ => CloudAnswer::NotUsed,
    };
    let instance_type = set.shape.as_ref().ok().map(|shape| &*shape.instance_type);
    let catalogue = catalogue.zip(instance_type).and_then(|(lookup, name)| lookup(name));
    Decoded { set, cloud, catalogue }
}

async fn ask<S: State>(
    annotator: &Annotator<S>,
    cloud: &dyn CapacitySource,
    set: &MachineSet<S>,
) -> CloudAnswer {
    let Ok(shape) = &set.shape else { return CloudAnswer::NoRegion };
    let service = cloud.endpoint_service();
    match annotator.access.resolve(&set.meta.key.namespace, shape, service).await {
        Ok(access) => {
            let instance_type = shape.instance_type.clone();
            CloudAnswer::Answered(cloud.look(&Question { access, instance_type }))
        }
        Err(CloudAccessError::NoRegion) => CloudAnswer::NoRegion,
        Err(CloudAccessError::NoSecret(key)) => CloudAnswer::NoSecret(key),
        Err(CloudAccessError::Unreadable(failure)) => CloudAnswer::NoAccess(failure),
    }
}
