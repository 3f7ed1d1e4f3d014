//! The instances of Machines, with the real SDK against moto behind the front. What moto does not store is checked on
//! the wire.

mod balancers;
mod conformance;
mod edited_specs;
mod errors;
mod field;
mod hosts;
mod hosts_left;
mod launches;
mod leaving;
mod orphans;
mod outcomes;
mod outdated;
mod repeats;
mod stripped;
mod takeover;
