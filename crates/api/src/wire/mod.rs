//! Lenient types for reading objects: what nobody reads is skipped while parsing and never allocated.
//!
//! Input: JSON of the API server. Output: borrowed or owned pieces that a projection turns into a stored struct.
//! These types are not for writing: a field that is missing here would be dropped on the way back.
//!
//! What is missing, or `null`, is as good as empty. What has the wrong type is an error: such an object is not absent, and whoever
//! reads it must be told.

mod condition;
mod event;
mod event_recycler;
mod lenient;
mod list;
mod machine;
mod machine_set;
mod metadata;
mod node;
mod pod;
mod selector;
mod surroundings;
#[cfg(test)]
mod tests;

pub use condition::Condition;
pub use event::{Event, EventSeries, EventSource, InvolvedObject};
pub use event_recycler::EventRecycler;
pub use list::{ListMetadata, ListPage, WatchLine};
pub use machine::{
    LifecycleHook, LifecycleHooks, Machine, MachineSpec, MachineStatus, NodeMetadata,
    NodeReference, ProviderSpec,
};
pub use machine_set::{
    MachineSet, MachineSetSpec, MachineSetStatus, MachineTemplate, TemplateMetadata, TemplateSpec,
};
pub use metadata::{Metadata, MetadataOnly, OwnerReference};
pub use node::{Address, AttachedVolume, Node, NodeSpec, NodeStatus, Taint};
pub use pod::{
    ClaimReference, PlacedPod, PlacedPodSpec, Pod, PodDisruptionBudget, PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus, PodSpec, PodStatus, PodVolume, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentSpec, VolumeAttachmentStatus,
};
pub use selector::{LabelExpression, LabelSelector};
pub use surroundings::{
    AwsPlatformStatus, CertificatesConfigMap, CertificatesData, Infrastructure,
    InfrastructureStatus, Lease, LeaseSpec, PlatformStatus, ServiceEndpoint,
};
