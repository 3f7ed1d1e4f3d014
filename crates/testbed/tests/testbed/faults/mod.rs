//! Fault injection and the crash harness against a real API server.

mod answers;
mod api_server;
mod crash;
mod two_parents;
mod watches;
