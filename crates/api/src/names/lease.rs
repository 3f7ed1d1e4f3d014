//! Leases. Where OpenShift has the same controller we hold its Lease, so that a cluster runs one or the other, never
//! both.

/// Of the controller `machine`, and of OpenShift's machine controller and annotator on AWS.
pub const LEASE_MACHINE: &str = "cluster-api-provider-aws-leader";
/// Of the controller `machineset`, here and in OpenShift.
pub const LEASE_MACHINE_SET: &str = "cluster-api-provider-machineset-leader";
/// Of the controller `nodelink`, here and in OpenShift.
pub const LEASE_NODE_LINK: &str = "cluster-api-provider-nodelink-leader";
/// Of the controller `recycler`, and of kaws's operator.
pub const LEASE_RECYCLER: &str = "kaws-operator-lock";
/// Where OpenShift's Machine API lives, its leases and its machines.
pub const OPENSHIFT_NAMESPACE: &str = "openshift-machine-api";
/// On a Lease: the name of its holder, if that is a machinist. Where another system holds it now, the two names differ.
pub const ANNOTATION_HOLDER: &str = "machinist.dev/holder";
