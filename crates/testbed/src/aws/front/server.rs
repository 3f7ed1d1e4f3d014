//! A call that has been read is carried out to its end, also when the client goes away. EC2 does the same, and a token
//! that moto had seen but the front had not noted would make the next attempt a second instance.

use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::Transport;
use super::pipeline::{Outcome, Pipeline};

/// Aborting the task closes the socket and every connection.
pub(super) async fn start(
    pipeline: Arc<Pipeline>,
    transport: &Transport,
) -> Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let acceptor = match transport {
        Transport::Plain => None,
        Transport::Tls(authority) => Some(TlsAcceptor::from(authority.server())),
    };
    let server = tokio::spawn(async move {
        let Err(error) = accept(&listener, &pipeline, acceptor.as_ref()).await;
        tracing::error!(%error, "the AWS front stopped listening");
    });
    Ok((address, server))
}

async fn accept(
    listener: &TcpListener,
    pipeline: &Arc<Pipeline>,
    acceptor: Option<&TlsAcceptor>,
) -> Result<Infallible, Error> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let pipeline = Arc::clone(pipeline);
        let acceptor = acceptor.cloned();
        connections.spawn(async move {
            if let Err(error) = connect(stream, pipeline, acceptor).await {
                tracing::debug!(%error, "a connection to the AWS front ended early");
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(
    stream: TcpStream,
    pipeline: Arc<Pipeline>,
    acceptor: Option<TlsAcceptor>,
) -> Result<()> {
    stream.set_nodelay(true)?;
    let twin = Twin::of(&stream)?;
    match acceptor {
        Some(acceptor) => serve(acceptor.accept(stream).await?, pipeline, twin).await,
        None => serve(stream, pipeline, twin).await,
    }
}

async fn serve<S>(stream: S, pipeline: Arc<Pipeline>, twin: Twin) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = |request| answer(Arc::clone(&pipeline), &twin, request);
    let connection = http1::Builder::new();
    let connection = connection.serve_connection(TokioIo::new(stream), service_fn(answer));
    Ok(connection.await?)
}

async fn answer(
    pipeline: Arc<Pipeline>,
    twin: &Twin,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(Error::other)?.to_bytes();
    let request = Request::from_parts(head, body);
    // A task of its own, because hyper drops this future when the client goes away.
    let call = tokio::spawn(async move { pipeline.handle(request).await });
    match call.await.map_err(Error::other)? {
        Outcome::Answer(answer) => Ok(answer.into_response()),
        Outcome::Reset => {
            twin.reset_when_closed()?;
            Err(Error::from(ErrorKind::ConnectionReset))
        }
    }
}

/// A second handle on a connection's socket, because hyper and TLS own the first one.
#[derive(Debug)]
struct Twin(TcpSocket);

impl Twin {
    fn of(stream: &TcpStream) -> Result<Self, Error> {
        let twin = stream.as_fd().try_clone_to_owned()?;
        Ok(Self(TcpSocket::from_std_stream(twin.into())))
    }

    /// Without lingering the kernel ends the connection by a reset instead of a polite end.
    fn reset_when_closed(&self) -> Result<(), Error> {
        self.0.set_zero_linger()
    }
}
