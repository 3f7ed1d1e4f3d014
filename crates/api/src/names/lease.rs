//! Leases. A controller that OpenShift has too holds the same Lease, so that the two never run at once.

/// Of the controller `machine`, and of OpenShift's machine controller and annotator on AWS.
pub const LEASE_MACHINE: &str = "cluster-api-provider-aws-leader";
/// Of the controller `machineset`, here and in OpenShift.
pub const LEASE_MACHINE_SET: &str = "cluster-api-provider-machineset-leader";
/// Of the controller `nodelink`, here and in OpenShift.
pub const LEASE_NODE_LINK: &str = "cluster-api-provider-nodelink-leader";
/// Of the controller `healthcheck`, and of OpenShift's machine-healthcheck.
pub const LEASE_HEALTH_CHECK: &str = "cluster-api-provider-healthcheck-leader";
/// Of the controller `recycler`, and of kaws's operator.
pub const LEASE_RECYCLER: &str = "kaws-operator-lock";
pub const OPENSHIFT_NAMESPACE: &str = "openshift-machine-api";
/// On a Lease: the last holder that is machinist. It differs from the holder if another system holds it.
pub const ANNOTATION_HOLDER: &str = "machinist.dev/holder";
