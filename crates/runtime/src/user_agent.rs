//! The `User-Agent` of requests. The audit log of a cluster shows by it which controller wrote what.

use http::HeaderValue;

/// A party that sends requests to an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserAgent(&'static str);

impl UserAgent {
    /// Watches, lists and live reads.
    pub const CACHE: Self = Self("cache");
    /// Leader election.
    pub const LEASE: Self = Self("lease");
    /// Reviews of the tokens that scrapes have.
    pub const METRICS: Self = Self("metrics");
    /// Waiting for the API server, and discovery.
    pub const START: Self = Self("start");

    /// Requests of a controller or of a verb of the command line.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    /// `machinist-<name>/<version>`
    pub fn header(self) -> HeaderValue {
        let text = format!("machinist-{}/{}", self.0, env!("CARGO_PKG_VERSION"));
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("machinist"))
    }
}
