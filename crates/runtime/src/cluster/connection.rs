//! The connections to an API server: those of kube, with TCP keepalive. Without it, a connection whose other end has
//! vanished (a failed node, a NAT or load balancer that forgot it) looks like one on which nothing happens.

use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{ClientBuilder, ConfigExt as _};
use tower::{BoxError, ServiceBuilder};

/// As client-go.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Unanswered probes until the kernel closes the connection.
const PROBES: u32 = 3;

/// Sends nothing.
pub(super) fn client(config: kube::Config) -> Result<kube::Client, kube::Error> {
    if config.proxy_url.is_some() {
        return Ok(ClientBuilder::try_from(config)?.build());
    }
    // Only the first call has an effect; kube's own builder does the same.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE / PROBES));
    connector.set_keepalive_retries(Some(PROBES));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(Client::builder(TokioExecutor::new()).build(connector));
    Ok(kube::Client::new(service, config.default_namespace))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use crate::cluster::Cluster;
    use crate::timings::Timings;
    use crate::user_agent::UserAgent;

    /// The timer of an established connection to this port: 02 is keepalive (`proc_net_tcp.txt` of the kernel).
    fn timer(port: u16) -> Option<String> {
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let remote = format!(":{port:04X}");
        table.lines().find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, _, to, "01", _, timer, ..] = fields[..] else { return None };
            to.ends_with(&remote).then(|| timer[..2].to_owned())
        })
    }

    #[tokio::test]
    async fn open_connection_has_keepalive() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let cluster = Cluster::new(config, &Timings::default()).unwrap();
        let session = cluster.session(UserAgent::START);
        let mut request = Box::pin(session.get("/readyz", "*/*", Duration::from_secs(60)));
        let accepted = async {
            let (connection, _) = server.accept().await.unwrap();
            for _ in 0..600 {
                if timer(port).as_deref() == Some("02") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drop(connection);
            panic!("the timer of the connection is {:?}", timer(port));
        };
        tokio::select! {
            answer = &mut request => panic!("nothing answers: {answer:?}"),
            () = accepted => {}
        }
    }
}
