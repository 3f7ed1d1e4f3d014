//! An HTTPS server for any [`axum::Router`]: the certificate with its reload, and the accept loop with its limits.
//!
//! TLS 1.2 and 1.3, HTTP/1.1. Who may send requests is decided elsewhere ([`crate::delegated_auth`]).

mod certificate;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use self::certificate::{Certificate, CertificateError};
pub(crate) use self::server::serve;
