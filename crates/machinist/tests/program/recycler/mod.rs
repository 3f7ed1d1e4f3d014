//! The recycler of the real binary, with a real API server and Auto Scaling on moto: from Events to new nodes, and
//! everything in between.
//!
//! Most tests share one [`world`], with one process for all: each has a group and an EventRecycler of its own, and
//! they go on side by side, as they would in life. Those that disturb the API server or the process have a world to
//! themselves.
//!
//! Not here: tables of decisions (`controllers`), what the cloud answers (`provider-aws`), the command line (`ec2`),
//! crashes (`crash`).

mod alerts;
mod deployed;
mod disturbed;
mod forged;
mod from_kaws;
mod lease_history;
mod mapping;
mod on_openshift;
mod process;
mod recycles;
mod refusals;
mod replicas;
mod rights;
mod secrecy;
mod world;
