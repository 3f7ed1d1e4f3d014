use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{HeaderMap, Request, Uri, header, request::Parts, uri::PathAndQuery};
use http_body_util::Full;
use hyper::{Response, body::Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{client::ConfigExt, config::AuthInfo};

use super::body::Cut;

const HOP_BY_HOP: [header::HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

#[derive(Debug)]
pub(super) struct Upstream {
    base: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    pass_credentials: bool,
    under: String,
}

impl Upstream {
    /// The service does not see the path.
    pub(super) fn beside(service: &kube::Config, under: &str) -> Result<Self> {
        Ok(Self { under: under.to_owned(), ..Self::new(service, true)? })
    }

    /// Empty for all.
    pub(super) fn under(&self) -> &str {
        &self.under
    }

    /// `api_server` gives the identity, too, unless the caller's own credentials are passed on.
    pub(super) fn new(api_server: &kube::Config, pass_credentials: bool) -> Result<Self> {
        let mut config = api_server.clone();
        if pass_credentials {
            // A client certificate would win over the caller's token.
            config.auth_info = AuthInfo::default();
        } else if config.auth_info.token.is_some() || config.auth_info.exec.is_some() {
            bail!("the proxy acts by client certificate; for tokens set `pass_credentials`");
        }
        let connector = config.rustls_https_connector().context("TLS to the API server")?;
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let under = String::new();
        Ok(Self { base: config.cluster_url, client, pass_credentials, under })
    }

    /// Returns as soon as the head of the answer is there.
    pub(super) async fn send(&self, parts: &Parts, body: Bytes) -> Result<Response<Incoming>, Cut> {
        let broken = |error: &dyn std::error::Error| Cut::Upstream(error.to_string());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = self.uri(parts).map_err(|e| broken(&e))?;
        *request.headers_mut() = without_hop_by_hop(&parts.headers);
        request.headers_mut().remove(header::HOST);
        if !self.pass_credentials {
            request.headers_mut().remove(header::AUTHORIZATION);
        }
        self.client.request(request).await.map_err(|e| broken(&e))
    }

    fn uri(&self, parts: &Parts) -> Result<Uri, http::Error> {
        let asked = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let asked = asked.strip_prefix(&self.under).unwrap_or(asked);
        let mut uri = self.base.clone().into_parts();
        let prefix = self.base.path().trim_end_matches('/');
        uri.path_and_query = Some(format!("{prefix}{asked}").parse()?);
        Ok(Uri::from_parts(uri)?)
    }
}

pub(super) fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers
}
