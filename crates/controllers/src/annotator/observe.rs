//! Fills a snapshot from the caches; live where an own write may not be in the cache. Never waits for the cloud.

use std::sync::Arc;

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_provider::capacity::{CapacitySource, Question};
use machinist_runtime::cache::kind::{Kind, Stored as _};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Annotator;
use super::snapshot::{CloudAnswer, Decoded, Snapshot};
use crate::cloud_access::CloudAccessError;
use crate::kinds::AsScalable;
use crate::migration::Gate;

pub(super) async fn observe<K: Kind<Stored: AsScalable>>(
    annotator: &Annotator<K>,
    key: &ObjectKey,
) -> Result<Option<Snapshot<K::Stored>>, ApiError> {
    annotator.release_secrets(key);
    let Some(entry) = annotator.objects.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let mut obey_migration = false;
    let content = match entry {
        Entry::Undecodable(object) => Err(object.error.clone()),
        Entry::Known(object) => {
            obey_migration = obeys_migration(annotator, &object).await;
            Ok(decoded(annotator, object, obey_migration).await)
        }
    };
    let arch_only_labels = annotator.rival.is_alive().await;
    let options = Options { arch_only_labels, ..annotator.settings.options };
    Ok(Some(Snapshot { meta, content, options, obey_migration }))
}

/// Annotations do no harm, so a gate that is not known delays none: only an object that names the other API is left
/// alone.
async fn obeys_migration<K: Kind<Stored: AsScalable>>(
    annotator: &Annotator<K>,
    object: &K::Stored,
) -> bool {
    match annotator.migration.get().await {
        Ok(Gate::Off) => false,
        Ok(Gate::On) => true,
        Ok(Gate::Forbidden) | Err(_) => object.scalable().names_authority,
    }
}

async fn decoded<K: Kind<Stored: AsScalable>>(
    annotator: &Annotator<K>,
    object: Arc<K::Stored>,
    obey_migration: bool,
) -> Decoded<K::Stored> {
    let scalable = object.scalable();
    let capacities = scalable.provider.and_then(|name| annotator.settings.capacities.get(name));
    let catalogue = capacities.and_then(|capacities| capacities.catalogue);
    let cloud = capacities.and_then(|capacities| capacities.cloud.as_deref());
    // `decide` ignores these objects, so no request is made for them.
    let ignored = scalable.of_deployment || (obey_migration && scalable.managed_elsewhere);
    let cloud = match cloud {
        None if catalogue.is_none() => CloudAnswer::NotSupported,
        Some(cloud) if !object.meta().deleting && !ignored => ask(annotator, cloud, &*object).await,
        _ => CloudAnswer::NotUsed,
    };
    let instance_type = scalable.shape.as_ref().ok().map(|shape| &*shape.instance_type);
    let catalogue = catalogue.zip(instance_type).and_then(|(lookup, name)| lookup(name));
    Decoded { object, cloud, catalogue }
}

async fn ask<K: Kind<Stored: AsScalable>>(
    annotator: &Annotator<K>,
    cloud: &dyn CapacitySource,
    object: &K::Stored,
) -> CloudAnswer {
    let Ok(shape) = &object.scalable().shape else { return CloudAnswer::NoRegion };
    let service = cloud.endpoint_service();
    match annotator.access.resolve(&object.meta().key.namespace, shape, service).await {
        Ok(access) => {
            let instance_type = shape.instance_type.clone();
            CloudAnswer::Answered(cloud.look(&Question { access, instance_type }))
        }
        Err(CloudAccessError::NoRegion) => CloudAnswer::NoRegion,
        Err(CloudAccessError::NoSecret(key)) => CloudAnswer::NoSecret(key),
        Err(CloudAccessError::Unreadable(failure)) => CloudAnswer::NoAccess(failure),
    }
}
