use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use http::{HeaderValue, header};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::RwLock;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    CutTimer, RequestLog, Rule, RuleHandle,
    network::{Link, Network},
    rulebook::Rulebook,
    serve::{Shared, serve},
    upstream::Upstream,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Hand the caller's `Authorization` header on, so that RBAC judges the caller.
    pub pass_credentials: bool,
}

#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    network: Network,
    _stop: DropGuard,
}

impl Proxy {
    /// Acts with the identity (a client certificate) of `api_server`.
    pub async fn start(api_server: &kube::Config) -> Result<Self> {
        Self::start_with(api_server, Options::default()).await
    }

    pub async fn start_with(api_server: &kube::Config, options: Options) -> Result<Self> {
        // Fails when a provider is installed already, which is as good.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let upstream = Arc::new(Upstream::new(api_server, options.pass_credentials)?);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("a port for the proxy")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            rules: Rulebook::default(),
            log: RequestLog::new(),
            upstream,
            routes: RwLock::default(),
        });
        let network = Network::default();
        let stop = CancellationToken::new();
        let accepting = accept(listener, Arc::clone(&shared), network.clone(), stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(accepting));
        Ok(Self { address, shared, network, _stop: stop.drop_guard() })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// One log has the order of everything. Requests to the service have `name` as their group.
    pub fn join(&self, name: &str, service: &str) -> Result<String> {
        let under = format!("/clouds/{name}");
        let service = kube::Config::new(service.parse().context("URL of a service")?);
        let upstream = Upstream::beside(&service, &under)?;
        self.shared.routes.write().push(Arc::new(upstream));
        Ok(format!("{}{under}", self.url()))
    }

    /// Without retries.
    pub fn config(&self, user_agent: &str) -> Result<kube::Config> {
        let mut config = kube::Config::new(self.url().parse()?);
        config.default_retry = false;
        config.headers.push((header::USER_AGENT, HeaderValue::from_str(user_agent)?));
        Ok(config)
    }

    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_for(&json!({}))
    }

    pub fn kubeconfig_with_token(&self, token: &str) -> String {
        self.kubeconfig_for(&json!({ "token": token }))
    }

    fn kubeconfig_for(&self, user: &serde_json::Value) -> String {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "proxy", "cluster": { "server": self.url() } }],
            "users": [{ "name": "user", "user": user }],
            "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "user" } }],
            "current-context": "proxy",
        });
        format!("{config:#}\n")
    }

    /// Behind those that are there.
    pub fn add_rule(&self, rule: Rule) -> RuleHandle {
        self.shared.rules.add(rule)
    }

    pub fn clear_rules(&self) {
        self.shared.rules.clear();
    }

    pub fn log(&self) -> RequestLog {
        self.shared.log.clone()
    }

    /// For a proxy that lives long: nothing is logged from now on.
    pub fn log_nothing(&self) {
        self.shared.log.stop();
    }

    /// Network partition: `true` closes all connections and every new one until it is called with `false`.
    pub fn refuse_all(&self, refuse: bool) {
        self.network.refuse(refuse);
    }

    /// Clients may reconnect at once.
    pub fn cut_connections(&self) {
        self.network.cut();
    }

    pub fn cut_connections_every(&self, period: Duration) -> CutTimer {
        self.network.cut_every(period)
    }
}

async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    network: Network,
    stop: CancellationToken,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // A refused connection is closed by dropping it.
                if let Some(link) = network.connect() {
                    let connection = serve_connection(stream, Arc::clone(&shared), link);
                    tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "fault proxy cannot accept a connection");
                // Out of file descriptors: some will be freed, spinning does not help.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>, link: Link) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let service = service_fn(|request| serve(Arc::clone(&shared), request));
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = connection => if let Err(error) = served {
            tracing::trace!(%error, "connection ended");
        },
        () = link.cut() => {}
    }
}
