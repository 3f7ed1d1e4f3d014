//! What the annotator reads of an object that cluster-autoscaler can scale: a MachineSet or a MachineDeployment. Of the
//! provider spec only its shape is stored, or its error for the controllers to report.

use std::sync::Arc;

use machinist_api::resource::MACHINE_DEPLOYMENTS;
use machinist_api::wire;
use machinist_domain::capacity_annotations::Current;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Stored;

use super::interner::{Interner, name};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalable {
    /// The provider whose spec the template has; `None` if no provider reads it.
    pub provider: Option<&'static str>,
    pub shape: Result<Arc<Shape>, Box<SpecError>>,
    pub annotations: Arc<Current>,
    /// Whether another machine API manages it, or neither during a migration.
    pub managed_elsewhere: bool,
    /// Whether its status names the API that manages it, or says that it is paused.
    pub names_authority: bool,
    /// Whether a MachineDeployment owns it, so that cluster-autoscaler ignores it.
    pub of_deployment: bool,
}

/// An object that the annotator serves.
pub trait AsScalable: Stored {
    fn scalable(&self) -> &Scalable;
}

/// Reads templates. Objects of one type in one zone have equal shapes and equal capacity annotations.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    specs: Arc<dyn SpecHalf>,
    shapes: Arc<Interner<Shape>>,
    annotations: Arc<Interner<Current>>,
}

impl Reader {
    pub(super) fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self { specs, shapes: Arc::default(), annotations: Arc::default() }
    }

    /// As of an object that no other machine API knows.
    pub(super) fn read(
        &self,
        metadata: &wire::Metadata,
        template: &wire::MachineTemplate,
    ) -> Scalable {
        let raw = template.spec.parts.provider_spec.value.as_deref();
        let shape = raw.map_or(Err(SpecError::Missing), |raw| self.specs.shape(raw));
        let current = Current::read(|name| metadata.annotations.get(name).map(String::as_str));
        let mut owners = metadata.owner_references.iter();
        Scalable {
            provider: raw.and_then(|raw| self.specs.provider(raw)),
            shape: shape.map(|shape| self.intern_shape(shape)).map_err(Box::new),
            annotations: self.annotations.intern(Arc::new(current)),
            managed_elsewhere: false,
            names_authority: false,
            // The rule of cluster-autoscaler: neither the group nor `controller` matters.
            of_deployment: owners.any(|owner| owner.kind == MACHINE_DEPLOYMENTS.kind),
        }
    }

    pub(super) fn hot_fields(&self, template: &wire::MachineTemplate) -> &'static [&'static str] {
        let raw = template.spec.parts.provider_spec.value.as_deref();
        raw.map_or(&[], |raw| self.specs.hot_fields(raw))
    }

    pub(super) fn in_place_fields(
        &self,
        template: &wire::MachineTemplate,
    ) -> &'static [&'static str] {
        let raw = template.spec.parts.provider_spec.value.as_deref();
        raw.map_or(&[], |raw| self.specs.in_place_fields(raw))
    }

    fn intern_shape(&self, mut shape: Shape) -> Arc<Shape> {
        let Shape { instance_type, region, zone, credentials_secret, root_disk_gib: _ } =
            &mut shape;
        let texts = [region, zone, credentials_secret].into_iter().flatten();
        for text in texts.chain([instance_type]) {
            *text = name(&**text);
        }
        self.shapes.intern(Arc::new(shape))
    }
}
