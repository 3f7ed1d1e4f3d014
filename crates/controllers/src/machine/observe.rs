//! Builds a snapshot from the caches; live where a write was not answered. It never waits for the cloud.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_domain::retry::Classified as _;
use machinist_domain::shape::Shape;
use machinist_provider::cloud::{MachineRef, ProviderStatus};
use machinist_provider::spec::SpecError;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::MachineController;
use super::error::Refusal;
use super::failure_domains::Group;
use super::snapshot::{Call, Rules, Snapshot, View};
use super::{in_place, late_node};
use crate::cloud_access::{CloudAccessError, messages};
use crate::clouds::{Chosen, Clouds};
use crate::drain::Subject;
use crate::kinds::{Machine, ProviderSpec};

pub(super) async fn observe(
    controller: &MachineController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    controller.triggers.access.release_secrets(key);
    let Some(entry) = controller.machines.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let view = match entry {
        Entry::Undecodable(object) => Err(object.error.clone()),
        Entry::Known(machine) => Ok(Box::new(view(controller, machine).await?)),
    };
    Ok(Some(Snapshot { meta, view }))
}

async fn view(controller: &MachineController, machine: Arc<Machine>) -> Result<View, ApiError> {
    let gate = controller.migration.get().await?;
    let (obey_migration, authority_field) = gate.rules(*controller.authority_field.lock());
    let rules = Rules {
        obey_migration,
        failure_fields: *controller.failure_fields.lock(),
        authority_field,
        timings: controller.timings,
        limits: controller.limits,
    };
    let mut view = View {
        stored: ProviderStatus::read(machine.status.provider_status.as_deref()),
        reach: None,
        observed: Observed::NotAsked,
        refused_attempt: controller.refused.lock().get(&machine.meta.uid).copied(),
        pause: None,
        node: controller.triggers.node_of(&machine),
        unrepaired: controller.repairs.of(&machine.meta.uid),
        unmarked: None,
        drain: None,
        rules,
        machine,
    };
    view.unmarked = view.node.as_ref().and_then(|node| controller.unmarked.of(&node.meta.uid));
    let (deleting, drained) = (view.machine.meta.deleting, view.is_drained());
    if deleting && !drained && view.machine.has_finalizer() {
        let subject = Subject::of(&view.machine, view.node.as_deref());
        view.drain = Some(Box::new(controller.drainer.observe(subject).await));
    } else if !deleting && in_place::is_draining(&view) {
        let subject = Subject::in_place(&view.machine, view.node.as_deref());
        view.drain = Some(Box::new(controller.drainer.observe(subject).await));
    }
    let now = controller.shared.clock.now();
    if !deleting && view.drains_preserved(now) {
        let (node, stored) = (view.node.as_deref(), view.preservation_step());
        let subject = Subject::of_preserved(&view.machine, node, stored);
        view.drain = Some(Box::new(controller.drainer.observe(subject).await));
    }
    if view.needs_cloud() {
        look(controller, &mut view).await;
    }
    if view.may_have_late_node() {
        view.node = late_node::find(controller, &view.machine).await?;
    }
    Ok(view)
}

async fn look(controller: &MachineController, view: &mut View) {
    let reach = reach(controller, &view.machine, &view.stored).await;
    let reach = reach.map_err(|refusal| in_full(&controller.clouds, &view.machine, refusal));
    if let Ok(machine) = &reach {
        view.pause = controller.failure_domains.pause(group(view, machine, view.next_call()));
        let chosen = controller.clouds.choose(&machine.spec).ok();
        view.observed = match chosen {
            Some(chosen) if view.must_look() => controller.instances.look(&chosen, machine),
            // The result of an own call is in the cache.
            Some(_) if !view.machine.meta.deleting => controller.instances.get(&machine.uid),
            _ => Observed::NotAsked,
        };
    }
    view.reach = Some(reach);
}

/// Calls for Machines with the same spec fail together if they go to the same place.
pub(super) fn group(view: &View, machine: &MachineRef, call: Call) -> Group {
    let place = if call == Call::Create { view.next_place() } else { None };
    Group::new(&machine.key.namespace, machine.spec.get(), call).at(place.as_deref())
}

/// The provider spec and its cloud, if there is a provider for it. Other controllers may decode more kinds.
fn readable<'a>(
    clouds: &Clouds,
    machine: &'a Machine,
) -> Result<(&'a ProviderSpec, &'a Shape, Chosen), SpecError> {
    let spec = machine.provider_spec.as_ref().ok_or(SpecError::Missing)?;
    let shape = machine.shape()?;
    Ok((spec, shape, clouds.choose(&spec.raw)?))
}

fn in_full(clouds: &Clouds, machine: &Machine, refusal: Refusal) -> Refusal {
    match (refusal, &machine.provider_spec) {
        (Refusal::BadSpec(error), Some(spec)) => Refusal::BadSpec(clouds.in_full(&spec.raw, error)),
        (refusal, _) => refusal,
    }
}

async fn reach(
    controller: &MachineController,
    machine: &Machine,
    stored: &ProviderStatus,
) -> Result<MachineRef, Refusal> {
    let (spec, shape, chosen) = readable(&controller.clouds, machine)?;
    let cluster = controller.identity.get().await;
    let cluster = cluster.map_err(|error| Refusal::NotFoundOut(error.failure()))?;
    let (namespace, service) = (&machine.meta.key.namespace, chosen.cloud.endpoint_service());
    let access = controller.triggers.access.resolve(namespace, shape, service).await;
    let access = access.map_err(|error| match error {
        CloudAccessError::NoRegion => {
            Refusal::BadSpec(SpecError::Invalid { reason: messages::NO_REGION.to_owned() })
        }
        CloudAccessError::NoSecret(key) => Refusal::NoSecret(key),
        CloudAccessError::Unreadable(failure) => Refusal::NotFoundOut(failure),
    })?;
    // Last: the watches of the cloud access requeue the Machine when the platform changes.
    controller.clouds.admit(&spec.raw).await.map_err(Refusal::NotFoundOut)?;
    let label = machine.cluster_label().filter(|label| **label != *cluster);
    Ok(MachineRef {
        key: machine.meta.key.clone(),
        uid: machine.meta.uid.clone(),
        attempt: stored.attempt().unwrap_or(1),
        cluster_label: label.map(Arc::from),
        cluster,
        access,
        spec: Arc::clone(&spec.raw),
        provider_id: machine.provider_id.clone(),
        status: stored.clone(),
        created: machine.created,
    })
}

#[cfg(test)]
mod tests {
    use machinist_aws_spec::AwsSpecs;
    use machinist_provider::cloud::Cloud;
    use machinist_provider::parts::Parts;
    use machinist_provider::provider::{Provider, Providers};
    use machinist_provider::spec::SpecHalf;
    use serde_json::json;

    use super::super::samples::{object, read};
    use super::*;

    /// Decodes the specs of AWS and has no cloud.
    #[derive(Debug)]
    struct Aws;

    impl Provider for Aws {
        fn name(&self) -> &'static str {
            machinist_aws_spec::PROVIDER
        }

        fn specs(&self) -> Arc<dyn SpecHalf> {
            Arc::new(AwsSpecs)
        }

        fn cloud(&self, _: &Parts) -> Arc<dyn Cloud> {
            unreachable!("no cloud call is made")
        }
    }

    #[test]
    fn reports_every_problem_of_an_invalid_spec() {
        let clouds = Clouds::without_calls(Providers::new(vec![Arc::new(Aws)]));
        let reported = |spec: serde_json::Value, refusal: Refusal| {
            let spec = json!({"spec": {"providerSpec": {"value": spec}}});
            in_full(&clouds, &read(&object(&spec)), refusal).to_string()
        };
        let no_region = || Refusal::BadSpec(SpecError::Invalid { reason: "no region".to_owned() });
        let spec = json!({"kind": "AWSMachineProviderConfig", "instanceType": "large"});
        let all = reported(spec.clone(), no_region());
        for path in ["ami.id: ", "instanceType: ", "placement.region: "] {
            assert!(all.contains(path), "{path}: {all}");
        }
        let types = reported(json!({"placement": {"region": 5}}), no_region());
        assert!(types.contains("placement.region: invalid type"), "{types}");
        let gone = Refusal::NoSecret(ObjectKey::new("ns", "keys"));
        assert_eq!(reported(spec, gone.clone()), gone.to_string());
        let other = json!({"kind": "Elsewhere"});
        assert_eq!(reported(other, no_region()), no_region().to_string());
    }

    #[test]
    fn refuses_a_spec_without_a_provider_at_once() {
        let spec = json!({"spec": {"providerSpec": {"value": {"kind": "Elsewhere", "zone": "z"}}}});
        let machine = read(&object(&spec));
        assert!(machine.shape().is_ok());
        let refusal = readable(&Clouds::none(), &machine).unwrap_err();
        assert!(matches!(refusal, SpecError::ForeignKind { .. }), "{refusal}");
        assert!(!Refusal::from(refusal).is_terminal(), "another controller may");
    }
}
