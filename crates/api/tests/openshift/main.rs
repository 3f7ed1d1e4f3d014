//! Our definitions of Machines and MachineSets beside OpenShift's own, on a real API server.
//!
//! An object that OpenShift's accept is accepted by ours and comes back as it was; where a rule refuses a change there, it refuses
//! it here; and `kubectl get` prints the same table. OpenShift's definitions come from its Go module (`openshift_crds`).

#[cfg(test)]
mod columns;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod migration;
#[cfg(test)]
mod oddities;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod same_schema;
#[cfg(test)]
mod server;
