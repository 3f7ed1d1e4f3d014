//! Remediation templates, and the objects that are created from them. Health checks name their kinds.

use std::sync::Arc;

use machinist_api::names::{ANNOTATION_CLONED_FROM_NAME, ANNOTATION_HEALTH_CHECK};
use machinist_api::resource::Resource;
use machinist_api::wire;
use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind;
use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RemediationTemplates(pub(crate) Resource);

#[derive(Debug, Clone, Copy)]
pub(crate) struct RemediationRequests(pub(crate) Resource);

#[derive(Debug, Clone)]
pub(crate) struct RemediationTemplate {
    pub(super) meta: Meta,
    /// `spec.template`.
    pub(crate) template: Option<Arc<Value>>,
}

/// Created from a template, with the name of its Machine.
#[derive(Debug, Clone)]
pub struct RemediationRequest {
    pub(crate) meta: Meta,
    pub(crate) owners: Box<[Uid]>,
    /// The name of the template, if it was created by a health check.
    pub(crate) cloned_from: Option<Arc<str>>,
    /// The name of the health check.
    pub(crate) health_check: Option<Arc<str>>,
}

impl Kind for RemediationTemplates {
    type Wire = wire::TemplateObject;
    type Stored = RemediationTemplate;
    const RESOURCE: Resource = Resource::UNNAMED;
    const OPTIONAL: bool = true;

    fn resource(&self) -> Resource {
        self.0
    }

    fn project(&self, wire: wire::TemplateObject) -> RemediationTemplate {
        RemediationTemplate {
            meta: Meta::of(&wire.metadata),
            template: wire.spec.template.map(Arc::new),
        }
    }
}

impl Kind for RemediationRequests {
    type Wire = wire::MetadataOnly;
    type Stored = RemediationRequest;
    const RESOURCE: Resource = Resource::UNNAMED;
    const METADATA_ONLY: bool = true;
    const OPTIONAL: bool = true;

    fn resource(&self) -> Resource {
        self.0
    }

    fn project(&self, wire: wire::MetadataOnly) -> RemediationRequest {
        let metadata = &wire.metadata;
        let annotation = |name: &str| metadata.annotations.get(name).map(|one| Arc::from(&**one));
        let owners = metadata.owner_references.iter();
        RemediationRequest {
            meta: Meta::of(metadata),
            owners: owners.map(|owner| Uid(owner.uid.as_str().into())).collect(),
            cloned_from: annotation(ANNOTATION_CLONED_FROM_NAME),
            health_check: annotation(ANNOTATION_HEALTH_CHECK),
        }
    }
}
