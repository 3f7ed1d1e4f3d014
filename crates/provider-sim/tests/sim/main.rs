//! The simulated cloud: the provider against the server, and Nodes on a real API server.

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
