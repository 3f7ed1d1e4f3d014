//! `machinist termination-handler` as a process: a stand-in for EC2's metadata service on one side, a real API server
//! on the other.
//!
//! It runs with the arguments of the DaemonSet in `deploy/termination-handler` and the rights of its ServiceAccount;
//! what it does in the cluster is read from a proxy's log, and what it asks EC2 from the stand-in's.

mod api_trouble;
mod imds_trouble;
mod installation;
mod notices;
mod spot_node;
mod usage;
