//! Gathers a snapshot: from the caches, or live where an answer about this object was lost. The cloud is looked at, never waited for.

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Classified as _;
use machinist_provider::capacity::Question;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Annotator;
use super::snapshot::{Cloud, Content, Snapshot};
use crate::kinds::{Authority, MachineSet};
use crate::realms::RealmError;

pub(super) async fn observe(
    annotator: &Annotator,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    annotator.let_go_of_secrets(key);
    let Some(entry) = annotator.sets.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Content::Undecodable(object.error.clone()),
        Entry::Known(set) => {
            // What is being deleted or somebody else's is left alone, so nobody is asked about it.
            let elsewhere =
                annotator.settings.obey_migration && set.authority == Authority::Elsewhere;
            let left = meta.deleting || elsewhere;
            let cloud = if left { Cloud::Off } else { ask(annotator, &set).await };
            let shape = set.shape.as_ref().ok();
            let catalogue = annotator.settings.catalogue.zip(shape);
            let catalogue = catalogue.and_then(|(lookup, shape)| lookup(&shape.instance_type));
            Content::Read { set, cloud, catalogue }
        }
    };
    let arch_only_labels = annotator.rival.is_alive().await;
    let options = Options { arch_only_labels, ..annotator.settings.options };
    let obey_migration = annotator.settings.obey_migration;
    Ok(Some(Snapshot { meta, content, options, obey_migration }))
}

async fn ask(annotator: &Annotator, set: &MachineSet) -> Cloud {
    let Some(source) = &annotator.settings.cloud else { return Cloud::Off };
    let Ok(shape) = &set.shape else { return Cloud::NoRegion };
    match annotator.realms.realm(&set.meta.key.namespace, shape).await {
        Ok(realm) => {
            let instance_type = shape.instance_type.clone();
            Cloud::Said(source.look(&Question { realm, instance_type }))
        }
        Err(RealmError::NoRegion) => Cloud::NoRegion,
        Err(RealmError::NoSecret(key)) => Cloud::NoSecret(key),
        Err(RealmError::Unreadable(error)) => Cloud::NotFoundOut(error.failure()),
        Err(RealmError::Api(error)) => Cloud::NotFoundOut(error.failure()),
    }
}
