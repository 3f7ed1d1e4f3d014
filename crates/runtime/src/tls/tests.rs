use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use machinist_testbed::https::{self, Answer};
use machinist_testbed::{http, poll};
use rustls::SupportedProtocolVersion;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::*;
use crate::clock::ManualClock;
use crate::tasks::Tasks;
use crate::timings::ServerTimings;

const PATIENCE: Duration = Duration::from_secs(60);
const ALERT_LEN: usize = 7;
const INTERVAL: Duration = Duration::from_secs(10);

/// An HTTPS server that answers `/` with its certificate, and `/slow` when it is notified.
struct Fixture {
    address: SocketAddr,
    tasks: Tasks,
    begun: Arc<Notify>,
    go: Arc<Notify>,
}

impl Fixture {
    async fn start(certificate: Certificate, timings: ServerTimings) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, tasks) = (listener.local_addr().unwrap(), Tasks::default());
        let (begun, go) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let gate = [&begun, &go].map(Arc::clone);
        let slow = get(async move || {
            gate[0].notify_one();
            gate[1].notified().await;
            "hello"
        });
        let routes = axum::Router::new().route("/", get(|| async { "hello" })).route("/slow", slow);
        tasks.spawn("server", serve(listener, certificate, routes, timings, tasks.stopping()));
        Self { address, tasks, begun, go }
    }

    async fn self_signed(timings: ServerTimings) -> Self {
        Self::start(Certificate::self_signed().unwrap(), timings).await
    }

    async fn get(&self) -> Answer {
        let answer = https::get(self.address, "/", None).await.unwrap();
        assert_eq!((answer.code, &*answer.body), (200, "hello"));
        answer
    }

    async fn get_with(&self, version: &'static SupportedProtocolVersion) -> anyhow::Result<u16> {
        let stream = https::connect(self.address, &[version]).await?;
        Ok(https::send(stream, "/", None).await?.code)
    }

    /// The first bytes that come back; none if the server closes the connection.
    async fn answer(&self, sent: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut received = Vec::new();
        let read = async {
            // A reset ends it, too.
            while received.len() < ALERT_LEN
                && stream.read_buf(&mut received).await.is_ok_and(|n| n > 0)
            {}
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer, or the end");
        received
    }
}

#[tokio::test]
async fn serves_tls_1_2_and_1_3_with_a_self_signed_certificate() {
    let server = Fixture::self_signed(ServerTimings::default()).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        assert_eq!(server.get_with(version).await.unwrap(), 200);
    }
    let other = Fixture::self_signed(ServerTimings::default()).await;
    let certificates = [server.get().await.certificate, other.get().await.certificate];
    assert_ne!(certificates[0], certificates[1], "every process makes its own");
    tokio::time::timeout(PATIENCE, server.tasks.stop()).await.expect("it stops");
}

/// A `ClientHello` that offers at most this version of TLS.
fn hello(version: [u8; 2]) -> Vec<u8> {
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    // No session; two cipher suites with ECDSA, of TLS 1.0 and 1.2; no compression.
    hello.extend([0, 0, 4, 0xc0, 0x0a, 0xc0, 0x2b, 1, 0]);
    // secp256r1, uncompressed points, ecdsa_secp256r1_sha256.
    let extensions = [
        0, 10, 0, 4, 0, 2, 0, 23, //
        0, 11, 0, 2, 1, 0, //
        0, 13, 0, 4, 0, 2, 4, 3,
    ];
    hello.extend([0, u8::try_from(extensions.len()).unwrap()]);
    hello.extend(extensions);
    let length = u8::try_from(hello.len()).unwrap();
    [&[22, 3, 1, 0, length + 4, 1, 0, 0, length], &*hello].concat()
}

#[tokio::test]
async fn refuses_older_versions_of_tls_and_plain_http() {
    let server = Fixture::self_signed(ServerTimings::default()).await;
    assert_eq!(server.answer(&hello([3, 3])).await[0], 22, "TLS 1.2 continues the handshake");
    for minor in [0, 1, 2] {
        let (alert, fatal, protocol_version) = (21, 2, 70);
        let answer = server.answer(&hello([3, minor])).await;
        assert_eq!(
            (answer[0], &answer[5..]),
            (alert, &[fatal, protocol_version][..]),
            "{answer:?}"
        );
    }
    assert!(http::get(server.address, "/").await.is_err());
    server.get().await;
}

#[tokio::test]
async fn slow_clients_are_disconnected() {
    let (soon, usual) = (Duration::from_millis(200), ServerTimings::default());
    let server = Fixture::self_signed(ServerTimings { handshake: soon, ..usual }).await;
    assert_eq!(server.answer(&[]).await, [0; 0], "no handshake");
    assert_eq!(server.answer(&[22, 3, 1]).await, [0; 0], "an incomplete handshake");

    let server = Fixture::self_signed(ServerTimings { idle: soon, ..usual }).await;
    let mut stream = https::connect(server.address, rustls::ALL_VERSIONS).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    let mut received = String::new();
    // Without a limit of ours, hyper's is 30 s.
    let soon = Duration::from_secs(20);
    let read = tokio::time::timeout(soon, stream.read_to_string(&mut received)).await;
    drop(read.expect("an incomplete request is not waited for"));
    assert!(!received.contains("hello"), "{received}");
}

#[tokio::test]
async fn a_request_in_progress_is_answered_although_the_server_stops() {
    let server = Fixture::self_signed(ServerTimings::default()).await;
    let request = https::get(server.address, "/slow", None);
    let closed = async || {
        anyhow::ensure!(TcpStream::connect(server.address).await.is_err());
        Ok(())
    };
    let answering = async {
        poll::eventually(PATIENCE, "no new connections", closed).await.unwrap();
        server.go.notify_one();
    };
    let stopping = async {
        server.begun.notified().await;
        tokio::join!(server.tasks.stop(), answering)
    };
    let all = async { tokio::join!(request, stopping) };
    let (answer, _) = tokio::time::timeout(PATIENCE, all).await.expect("it stops");
    assert_eq!(answer.unwrap().code, 200);
}

#[tokio::test]
async fn connections_are_limited_and_wait_for_others_to_end() {
    let server = Fixture::self_signed(ServerTimings::default()).await;
    let silent = (0..server::MAX_CONNECTIONS).map(|_| TcpStream::connect(server.address));
    let mut silent = futures::future::try_join_all(silent).await.unwrap();
    let mut next = pin!(https::get(server.address, "/", None));
    let soon = Duration::from_millis(300);
    assert!(tokio::time::timeout(soon, next.as_mut()).await.is_err(), "all are in use");
    silent.pop();
    let answer = tokio::time::timeout(PATIENCE, next).await.expect("one has ended");
    assert_eq!(answer.unwrap().code, 200);
}

/// Writes a new pair into a folder of this name below `root`.
fn write_pair(root: &Path, name: &str) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let folder = root.join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
}

/// As the kubelet replaces a mounted Secret.
fn switch(root: &Path, name: &str) {
    symlink(name, root.join("..data_tmp")).unwrap();
    fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
}

fn mounted() -> TempDir {
    let root = TempDir::new().unwrap();
    write_pair(root.path(), "..1");
    switch(root.path(), "..1");
    for name in ["tls.crt", "tls.key"] {
        symlink(Path::new("..data").join(name), root.path().join(name)).unwrap();
    }
    root
}

#[tokio::test]
async fn serves_a_replaced_certificate_without_a_failed_request() {
    let (root, clock) = (mounted(), Arc::new(ManualClock::default()));
    let certificate = Certificate::of_files(root.path(), clock.clone(), INTERVAL).await.unwrap();
    let server = Fixture::start(certificate, ServerTimings::default()).await;
    let before = server.get().await.certificate;
    let mut open = https::connect(server.address, rustls::ALL_VERSIONS).await.unwrap();

    write_pair(root.path(), "..2");
    switch(root.path(), "..2");
    fs::remove_dir_all(root.path().join("..1")).unwrap();
    assert_eq!(server.get().await.certificate, before, "it was read a moment ago");
    clock.advance(INTERVAL);
    let answers = futures::future::join_all((0..20).map(|_| server.get())).await;
    let after = server.get().await.certificate;
    assert!(answers.iter().all(|it| [&before, &after].contains(&&it.certificate)));
    assert_ne!(after, before);

    open.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut received = String::new();
    open.read_to_string(&mut received).await.unwrap();
    assert!(received.ends_with("hello"), "an open connection stays: {received}");
}

#[tokio::test]
async fn previous_certificate_is_served_until_the_files_fit() {
    let (root, clock) = (mounted(), Arc::new(ManualClock::default()));
    let certificate = Certificate::of_files(root.path(), clock.clone(), INTERVAL).await.unwrap();
    let server = Fixture::start(certificate, ServerTimings::default()).await;
    let before = server.get().await.certificate;
    write_pair(root.path(), "..2");
    let key = |from: &str| root.path().join(from).join("tls.key");
    let right = fs::read(key("..2")).unwrap();
    for wrong in [fs::read(key("..1")).unwrap(), b"no key".to_vec()] {
        fs::write(key("..2"), wrong).unwrap();
        switch(root.path(), "..2");
        clock.advance(INTERVAL);
        assert_eq!(server.get().await.certificate, before);
    }
    fs::write(key("..2"), right).unwrap();
    clock.advance(INTERVAL);
    poll::eventually(PATIENCE, "the new certificate", || async {
        anyhow::ensure!(server.get().await.certificate != before);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn unusable_files_are_named() {
    let (root, clock) = (mounted(), Arc::new(ManualClock::default()));
    let error = async |content: Option<&str>| {
        let file = root.path().join("..1/tls.crt");
        match content {
            None => fs::remove_file(file).unwrap(),
            Some(content) => fs::write(file, content).unwrap(),
        }
        let read = Certificate::of_files(root.path(), clock.clone(), INTERVAL).await;
        read.unwrap_err().to_string()
    };
    for content in
        [Some(""), Some("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"), None]
    {
        let text = error(content).await;
        assert!(text.contains("/tls.crt: "), "{content:?}: {text}");
    }
}
