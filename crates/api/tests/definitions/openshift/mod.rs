//! Our definitions of Machines and MachineSets beside OpenShift's own, on a real API server.
//!
//! An object that OpenShift's accept is accepted by ours and stored unchanged; where a rule refuses a change there,
//! it refuses it here; and `kubectl get` prints the same table. OpenShift's definitions come from its Go module
//! (`openshift_crds`).

mod columns;
mod generator;
mod migration;
mod oddities;
mod round_trip;
mod same_schema;
mod server;
