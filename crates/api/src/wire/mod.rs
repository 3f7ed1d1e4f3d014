//! Lenient types for reading, not for writing: a missing field would be dropped. Missing values and `null` are empty. A
//! wrong type is an error: such an object is not absent.

mod cluster_settings;
mod condition;
mod event;
mod lenient;
mod list;
mod machine;
mod machine_deployment;
mod machine_health_check;
mod machine_set;
mod metadata;
mod node;
mod object;
mod pod;
mod selector;

#[cfg(test)]
mod tests;

pub use cluster_settings::{
    AwsPlatformStatus, CertificatesConfigMap, CertificatesData, FeatureGate, FeatureGateStatus,
    FreezeConfigMap, GateName, Infrastructure, InfrastructureStatus, Lease, LeaseSpec,
    PlatformStatus, ServiceEndpoint, VersionGates,
};
pub use condition::Condition;
pub use event::{Event, EventSeries, EventSource, InvolvedObject};
pub use list::{ListMetadata, ListPage, WatchLine};
pub use machine::{
    LifecycleHook, LifecycleHooks, Machine, MachineSpec, MachineStatus, NodeReference, ProviderSpec,
};
pub use machine_deployment::{
    Abort, Canary, DeploymentStrategy, InPlaceUpdate, IntOrText, MachineDeployment,
    MachineDeploymentSpec, MachineDeploymentStatus, Remediation, RollingUpdate,
};
pub use machine_health_check::{
    MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus, RemediationTemplate,
    TemplateObject, TemplateObjectSpec, UnhealthyCondition,
};
pub use machine_set::{
    MachineSet, MachineSetSpec, MachineSetStatus, MachineTemplate, TemplateSpec,
};
pub use metadata::{Metadata, MetadataOnly, OwnerReference, TemplateMetadata};
pub use node::{Address, AttachedVolume, Node, NodeSpec, NodeStatus, Taint};
pub use object::{EventRecycler, Object, Raw};
pub use pod::{
    ClaimReference, PlacedPod, PlacedPodSpec, Pod, PodSpec, PodStatus, PodVolume, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentSpec,
};
pub use selector::{LabelExpression, LabelSelector};
