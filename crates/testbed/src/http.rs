use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A process that is there answers at once, or as soon as it gets a core; one that is paused never does.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub async fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let exchange = async { exchange(TcpStream::connect(address).await?, path, "").await };
    tokio::time::timeout(LIMIT, exchange).await.context("no answer in time")?
}

/// Each header ends with a line break.
pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    path: &str,
    headers: &str,
) -> Result<(u16, String)> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: machinist\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not HTTP")?;
    let code = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((code, body.to_owned()))
}

/// `None` if it is not there.
pub async fn metric(address: SocketAddr, series: &str) -> Result<Option<f64>> {
    let (code, text) = get(address, "/metrics").await?;
    ensure!(code == 200, "/metrics: {code}");
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    Ok(value.map(str::parse).transpose()?)
}

/// Answers every request, until it is dropped.
pub(crate) async fn serve<F>(
    listener: TcpListener,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let answer = answer.clone();
        connections.spawn(async move {
            let answered = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answered);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
        while connections.try_join_next().is_some() {}
    }
}
