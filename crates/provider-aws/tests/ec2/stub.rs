//! A stub of EC2: one reply per request, whatever it is.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

type Reply = (u16, String);

/// A running stub. It stops when dropped.
pub(crate) struct Stub {
    pub(crate) endpoint: String,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Stub {
    /// Sends these replies in turn, then the last one forever.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (giving, noting) = (Arc::clone(&replies), Arc::clone(&requests));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let request = serve(stream, &giving).await;
                noting.lock().push(request);
            }
        });
        Self { endpoint, replies, requests, server }
    }

    /// Sends only this reply from now on.
    pub(crate) fn set_reply(&self, reply: Reply) {
        *self.replies.lock() = VecDeque::from([reply]);
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut stream: TcpStream, replies: &Mutex<VecDeque<Reply>>) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !is_complete(&request) {
        let read = stream.read(&mut piece).await.unwrap();
        if read == 0 {
            break;
        }
        request.extend_from_slice(&piece[..read]);
    }
    let (status, body) = {
        let mut replies = replies.lock();
        let next = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
        next.unwrap()
    };
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    String::from_utf8(request).unwrap()
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

/// A page of DescribeInstanceTypes: names with their CPUs, and the token of the next page.
pub(crate) fn page(types: &[(&str, u32)], next: Option<&str>) -> Reply {
    let mut body = String::from(
        "<DescribeInstanceTypesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><instanceTypeSet>",
    );
    for (name, vcpus) in types {
        write!(
            body,
            "<item><instanceType>{name}</instanceType><vCpuInfo><defaultVCpus>{vcpus}</defaultVCpus></vCpuInfo></item>"
        )
        .unwrap();
    }
    body.push_str("</instanceTypeSet>");
    if let Some(token) = next {
        write!(body, "<nextToken>{token}</nextToken>").unwrap();
    }
    body.push_str("</DescribeInstanceTypesResponse>");
    (200, body)
}
