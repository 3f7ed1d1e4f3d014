//! The controllers of machines as a process: a [`fleet`] on a simulated cloud goes through a whole [`life`] with no
//! more than the [`rights`] that the manifests give, on [`openshift`] too, and writes what the docs list
//! ([`ownership`]); in [`interruption`] a spot instance ends; [`leases`] are shared with Go programs. [`rollout`] and
//! [`orphans`] are the command line.

mod fleet;
mod interruption;
mod leases;
mod life;
mod openshift;
mod orphans;
mod ownership;
mod platform;
mod rights;
mod rollout;
mod rolls;
