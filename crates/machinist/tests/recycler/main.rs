//! The recycler of the real binary, with a real API server and Auto Scaling on moto: from Events to new nodes, and everything in between.
//!
//! Most tests share one [`world`], with one process for all: each has a group and an EventRecycler of its own, and they go on side by side, as
//! they would in life. Those that disturb the API server or the process have a world to themselves.
//!
//! Not here: tables of decisions (`controllers`), what the cloud answers (`provider-aws`), the command line (`ec2`), crashes (`crash`).

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod alerts;
#[cfg(test)]
mod deployed;
#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod from_kaws;
#[cfg(test)]
mod lease_history;
#[cfg(test)]
mod mapping;
#[cfg(test)]
mod process;
#[cfg(test)]
mod recycles;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod replicas;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod world;
