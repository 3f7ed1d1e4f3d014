//! Fault injection and the crash harness against a real API server.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod api_server;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod two_parents;
#[cfg(test)]
mod watches;
