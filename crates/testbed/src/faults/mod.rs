//! Fault injection between any Kubernetes client and the API server.
//!
//! A [`Proxy`] listens on a loopback port, forwards to the real API server and disturbs the requests that its [`Rule`]s
//! name. It sits next to the socket, below every retry of the client, so the same mechanism serves a controller inside
//! the test and one in a process of its own. [`RequestLog`] has everything that went through.
//!
//! Invariants: an undisturbed answer is the API server's own, errors included; a watch is streamed event by event; the
//! first rule that fits decides. Not here: what only AWS does wrong, connection upgrades such as `exec`.

mod body;
mod filter;
mod gate;
mod log;
mod network;
mod proxy;
mod query_call;
mod request;
mod rule;
mod rulebook;
mod serve;
mod status;
mod upstream;

pub use filter::EventFilter;
pub use gate::Gate;
pub use log::{LogEntry, Outcome, RequestLog};
pub use network::CutTimer;
pub use proxy::{Options, Proxy};
pub use request::{ApiRequest, Verb};
pub use rule::{Effect, Match, Rule};
pub use rulebook::RuleHandle;
