//! The accept loop. A client that is slow, or sends nothing, or no TLS, occupies one of a limited number of connections
//! for a limited time. While all are in use, new ones wait in the kernel's queue.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::Certificate;
use crate::timings::ServerTimings;

pub(super) const MAX_CONNECTIONS: usize = 100;
/// Enough for the header of a request with a large token.
const BUFFER: usize = 64 << 10;
/// After accepting failed, for example because all file descriptors are in use.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until `stop`. Requests in progress are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    certificate: Certificate,
    routes: Router,
    timings: ServerTimings,
    stop: CancellationToken,
) {
    let server = Arc::new(Server { certificate, routes, timings, stop });
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = server.stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(Arc::clone(&server).connection(stream, peer));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    server.stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

struct Server {
    certificate: Certificate,
    routes: Router,
    timings: ServerTimings,
    stop: CancellationToken,
}

impl Server {
    async fn connection(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let acceptor = TlsAcceptor::from(self.certificate.current().await);
        let handshake = tokio::time::timeout(self.timings.handshake, acceptor.accept(stream));
        let Some(handshake) = self.stop.run_until_cancelled(handshake).await else { return };
        let stream = match handshake.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => stream,
            Err(error) => {
                // Every port scan is one.
                tracing::debug!(%peer, %error, "TLS handshake failed");
                return;
            }
        };
        let answer = |request: Request<Incoming>| self.routes.clone().oneshot(request);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new());
        http.header_read_timeout(self.timings.idle);
        http.max_buf_size(BUFFER);
        let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
        }
    }
}
