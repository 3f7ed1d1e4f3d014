//! On bare TCP, because it must also be able to lie about a length.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub(super) struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn ok(body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
        Self { head, body: body.to_owned() }
    }

    /// Promises all and sends half.
    pub(super) fn truncated(body: &[u8]) -> Self {
        Self { body: body[..body.len() / 2].to_owned(), ..Self::ok(body) }
    }

    pub(super) fn redirect(path: &str) -> Self {
        let head = format!("HTTP/1.1 302 Found\r\nLocation: {path}\r\nContent-Length: 0\r\n");
        Self { head, body: Vec::new() }
    }

    fn not_found() -> Self {
        let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n".to_owned();
        Self { head, body: Vec::new() }
    }
}

pub(super) struct Server {
    address: SocketAddr,
    hits: Arc<Mutex<HashMap<String, usize>>>,
}

impl Server {
    pub(super) async fn start(answers: Vec<(String, Answer)>) -> Result<Self> {
        // The client is built with TLS even for plain addresses.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answers: Arc<HashMap<_, _>> = Arc::new(answers.into_iter().collect());
        let hits = Arc::new(Mutex::new(HashMap::new()));
        let counted = Arc::clone(&hits);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, address, Arc::clone(&answers), Arc::clone(&counted)));
            }
        });
        Ok(Self { address, hits })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn hits(&self, path: &str) -> usize {
        let hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        hits.get(path).copied().unwrap_or_default()
    }
}

async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    answers: Arc<HashMap<String, Answer>>,
    hits: Arc<Mutex<HashMap<String, usize>>>,
) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if stream.read_line(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    *hits.lock().unwrap_or_else(PoisonError::into_inner).entry(path.clone()).or_default() += 1;
    let answer = answers.get(&path).cloned().unwrap_or_else(Answer::not_found);
    let head = answer.head.replace("Location: /", &format!("Location: http://{address}/"));
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).await?;
    stream.write_all(&answer.body).await?;
    stream.shutdown().await?;
    Ok(())
}

pub(super) fn sha256(content: &[u8]) -> String {
    let digits: Vec<String> =
        Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}
