//! Invariant: a request that was read is carried out, even if the client disconnects.

use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::SimCloud;
use super::service::Outcome;

/// The server of a cloud. Dropping it closes all connections; the cloud stays.
#[derive(Debug)]
pub struct SimServer {
    address: SocketAddr,
    _serving: AbortOnDropHandle<()>,
}

impl SimServer {
    /// Serves a cloud on a free loopback port.
    pub async fn start(cloud: &SimCloud) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let cloud = cloud.clone();
        let serving = tokio::spawn(async move {
            let Err(error) = accept(&listener, &cloud).await;
            tracing::error!(%error, "the simulated cloud stopped listening");
        });
        Ok(Self { address, _serving: AbortOnDropHandle::new(serving) })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept(listener: &TcpListener, cloud: &SimCloud) -> Result<Infallible, Error> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let cloud = cloud.clone();
        connections.spawn(async move {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "no TCP_NODELAY");
            }
            let service = service_fn(|request| answer(&cloud, request));
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "a connection to the simulated cloud ended early");
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    cloud: &SimCloud,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(Error::other)?.to_bytes();
    match cloud.serve(&Request::from_parts(head, body)) {
        Outcome::Lost => Err(Error::from(ErrorKind::ConnectionReset)),
        Outcome::Answer(response, late) => {
            if !late.is_zero() {
                cloud.sleep(late).await;
            }
            Ok(response)
        }
    }
}
