//! The HTTP servers for probes (`/healthz`, `/readyz`) and for Prometheus (`/metrics`). Handlers only translate.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::controller::start::Shared;
use crate::delegated_auth::{self, DelegatedAuth};
use crate::messages;
use crate::user_agent::UserAgent;

const METRICS: &str = "/metrics";

#[derive(Debug, thiserror::Error)]
#[error("{}", messages::cannot_listen(.flag, .address, .cause))]
pub struct ListenError {
    flag: &'static str,
    address: String,
    cause: std::io::Error,
}

/// Listens on an address in the form of controller flags: `:8080` is every interface, `0` disables the server.
pub(crate) async fn listen(
    flag: &'static str,
    address: &str,
) -> Result<Option<TcpListener>, ListenError> {
    if address == "0" {
        return Ok(None);
    }
    let bound = match address.strip_prefix(':') {
        None => TcpListener::bind(address).await,
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Ok(listener) => Ok(listener),
            // A host without IPv6.
            Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await,
        },
    };
    bound.map(Some).map_err(|cause| ListenError { flag, address: address.to_owned(), cause })
}

pub(crate) fn metrics_routes() -> Router<Arc<Shared>> {
    Router::new().route(METRICS, get(metrics))
}

/// The same, for users that the API server allows to `get` this path.
pub(crate) fn secure_metrics_routes(shared: &Shared) -> Router<Arc<Shared>> {
    let session = shared.control.session(UserAgent::METRICS);
    let timings = shared.timings.server;
    let auth = DelegatedAuth::new(session, METRICS, shared.clock.clone(), timings);
    metrics_routes().layer(from_fn_with_state(Arc::new(auth), delegated_auth::require))
}

pub(crate) fn health_routes() -> Router<Arc<Shared>> {
    Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready))
}

/// For the log.
pub(crate) fn announce(listener: &TcpListener) -> SocketAddr {
    let address = listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
    tracing::info!(%address, "listening");
    address
}

/// Without TLS.
pub(crate) async fn serve(listener: TcpListener, routes: Router, stop: CancellationToken) {
    let address = announce(&listener);
    let serving = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = serving.await {
        tracing::error!(%error, %address, "server stopped");
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    match shared.metrics.encode(&shared.caches.all()) {
        Ok(text) => {
            let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            (StatusCode::OK, [("content-type", openmetrics)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// As Kubernetes' own probes: `ok`, and the checks if one fails or with `?verbose`.
async fn healthy(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let (healthy, details) = shared.health.describe();
    let verbose = query.is_some_and(|query| query.starts_with("verbose"));
    match healthy {
        true if !verbose => "ok\n".into_response(),
        true => details.into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, details).into_response(),
    }
}

async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let (ready, details) = shared.readiness.describe(&shared.caches.all());
    (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, details)
}
