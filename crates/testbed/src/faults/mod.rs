//! A proxy next to the socket, below every retry of the client, so it serves a controller inside the test and one in a
//! process of its own. An undisturbed answer is the API server's own, errors included; a watch is streamed event by
//! event; the first rule that fits decides. Connection upgrades such as `exec` are not supported.

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
