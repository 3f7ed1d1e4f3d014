//! Delegated authentication and authorization, as in controller-runtime (`WithAuthenticationAndAuthorization`): a
//! request needs a bearer token that a TokenReview accepts, and its user a SubjectAccessReview that allows to `get` the
//! path.
//!
//! An answer is used again for a while, under the hash of the token; the token itself is neither stored nor logged.
//! Without an answer from the API server, a request is refused.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use machinist_domain::expiring::ExpiringMap;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::clock::SharedClock;
use crate::cluster::{ApiError, Session};
use crate::messages;
use crate::timings::ServerTimings;

/// More users than scrape one process.
const MAX_DECISIONS: usize = 1000;

/// Requests with invented tokens must not take the API server's time.
const MAX_CONCURRENT_REVIEWS: usize = 4;

/// Decides about the requests of one path.
#[derive(Debug)]
pub(crate) struct DelegatedAuth {
    session: Session,
    path: &'static str,
    clock: SharedClock,
    timings: ServerTimings,
    /// Only of tokens that the API server accepted, so invented ones displace nothing.
    decisions: Mutex<ExpiringMap<TokenHash, Decision>>,
    reviews: Semaphore,
}

type TokenHash = [u8; 32];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    /// The user, who is authenticated.
    Forbidden(Arc<str>),
    Unauthenticated,
}

impl DelegatedAuth {
    pub(crate) fn new(
        session: Session,
        path: &'static str,
        clock: SharedClock,
        timings: ServerTimings,
    ) -> Self {
        let (decisions, reviews) = (Mutex::default(), Semaphore::new(MAX_CONCURRENT_REVIEWS));
        Self { session, path, clock, timings, decisions, reviews }
    }

    async fn decide(&self, token: &str) -> Result<Decision, ApiError> {
        let hash = Sha256::digest(token).into();
        if let Some(decision) = self.known(&hash) {
            return Ok(decision);
        }
        let limit = self.timings.review;
        let review = async {
            let _permit = self.reviews.acquire().await;
            // Another request with this token may have been reviewed meanwhile.
            match self.known(&hash) {
                Some(decision) => Ok(decision),
                None => self.review(token).await,
            }
        };
        let decision = tokio::time::timeout(limit, review).await;
        let decision = decision.unwrap_or(Err(ApiError::TimedOut(limit)))?;
        self.remember(hash, &decision);
        Ok(decision)
    }

    async fn review(&self, token: &str) -> Result<Decision, ApiError> {
        let limit = self.timings.review;
        let Some(user) = self.session.authenticate(token, limit).await? else {
            return Ok(Decision::Unauthenticated);
        };
        let is_allowed = self.session.may_get(&user, self.path, limit).await?;
        Ok(if is_allowed { Decision::Allowed } else { Decision::Forbidden(user.username.into()) })
    }

    fn known(&self, hash: &TokenHash) -> Option<Decision> {
        self.decisions.lock().get(hash, self.clock.uptime()).cloned()
    }

    fn remember(&self, hash: TokenHash, decision: &Decision) {
        let (mut decisions, now) = (self.decisions.lock(), self.clock.uptime());
        let is_known = decisions.get(&hash, now).is_some();
        let is_full = decisions.live(now).count() >= MAX_DECISIONS;
        if *decision != Decision::Unauthenticated && !is_known && !is_full {
            decisions.insert(hash, decision.clone(), now, self.timings.review_ttl);
        }
    }
}

/// Middleware that passes on only requests that are allowed.
pub(crate) async fn require(
    State(auth): State<Arc<DelegatedAuth>>,
    request: Request,
    next: Next,
) -> Response {
    let decision = match bearer_token(request.headers()) {
        Some(token) => auth.decide(token).await,
        None => Ok(Decision::Unauthenticated),
    };
    match decision {
        Ok(Decision::Allowed) => next.run(request).await,
        Ok(Decision::Forbidden(user)) => {
            (StatusCode::FORBIDDEN, messages::may_not_get(&user, auth.path)).into_response()
        }
        Ok(Decision::Unauthenticated) => {
            let challenge = [(WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, challenge, messages::UNAUTHENTICATED).into_response()
        }
        Err(error) => {
            tracing::warn!("{}", messages::cannot_review(auth.path, &error));
            (StatusCode::SERVICE_UNAVAILABLE, messages::NOT_REVIEWED).into_response()
        }
    }
}

/// The scheme is case-insensitive (RFC 9110).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
