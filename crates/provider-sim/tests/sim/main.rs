//! The simulated cloud from the outside: the provider against the service, and its Nodes on a real API server.

#[cfg(test)]
mod api;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod nodes;
