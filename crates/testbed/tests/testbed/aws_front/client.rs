//! A client that speaks the Query protocol, without retries and without an SDK.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use machinist_testbed::aws::AwsBed;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::aws_front::IMAGE;

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    pub(crate) region: String,
    pub(crate) access_key_id: String,
    pub(crate) tls: Option<TlsConnector>,
}

impl Client {
    pub(crate) fn new(bed: &AwsBed, region: &str) -> Self {
        let url = bed.endpoint_url();
        let (_, address) = url.split_once("://").unwrap();
        Self {
            address: address.parse().unwrap(),
            region: region.to_owned(),
            access_key_id: "AKIDTEST".to_owned(),
            tls: None,
        }
    }

    pub(crate) async fn ec2(&self, action: &str, parameters: &[(&str, &str)]) -> Reply {
        self.try_call("ec2", action, parameters).await.unwrap()
    }

    pub(crate) async fn auto_scaling(&self, action: &str, parameters: &[(&str, &str)]) -> Reply {
        let call = self.try_call("autoscaling", action, parameters);
        call.await.unwrap()
    }

    /// `RunInstances` for one instance.
    pub(crate) async fn run(&self, more: &[(&str, &str)]) -> Reply {
        self.try_run(more).await.unwrap()
    }

    pub(crate) async fn try_run(&self, more: &[(&str, &str)]) -> Result<Reply> {
        let mut parameters = vec![
            ("ImageId", IMAGE),
            ("InstanceType", "m5.large"),
            ("MinCount", "1"),
            ("MaxCount", "1"),
        ];
        parameters.extend(more);
        self.try_call("ec2", "RunInstances", &parameters).await
    }

    /// Every instance that EC2 shows in this region.
    pub(crate) async fn instances(&self) -> Vec<String> {
        self.ec2("DescribeInstances", &[]).await.all("instanceId")
    }

    pub(crate) async fn try_call(
        &self,
        service: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Reply> {
        let version = match service {
            "autoscaling" => "2011-01-01",
            _ => "2016-11-15",
        };
        let body = Serializer::new(String::new())
            .append_pair("Action", action)
            .append_pair("Version", version)
            .extend_pairs(parameters)
            .finish();
        let scope = format!(
            "AWS4-HMAC-SHA256 Credential={}/20260101/{}/{service}/aws4_request, \
             SignedHeaders=host, Signature=0",
            self.access_key_id, self.region
        );
        let request = Request::post("/")
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, scope)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(body)))?;
        let stream = TcpStream::connect(self.address).await?;
        match &self.tls {
            None => exchange(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from("127.0.0.1")?;
                exchange(tls.connect(name, stream).await?, request).await
            }
        }
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Reply>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let body = String::from_utf8(body.to_vec())?;
        anyhow::Ok(Reply { status, body })
    };
    let (reply, end) = futures::join!(exchange, connection);
    match end {
        // The reason why there is no answer is known to the connection only.
        Err(error) if reply.is_err() => Err(error).context("no answer"),
        _ => reply,
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

impl Reply {
    /// The texts of all elements of this name.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let open = format!("<{name}>");
        let parts = self.body.split(&open).skip(1);
        parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
    }

    pub(crate) fn first(&self, name: &str) -> String {
        let first = self.all(name).into_iter().next();
        first.unwrap_or_else(|| panic!("no <{name}> in {self:?}"))
    }

    /// The states of all instances in the answer.
    pub(crate) fn states(&self) -> Vec<String> {
        let parts = self.body.split("<instanceState>").skip(1);
        let name = |part: &str| part.split("<name>").nth(1)?.split('<').next().map(str::to_owned);
        parts.map(|part| name(part).unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn instance(&self) -> String {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.first("instanceId")
    }

    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.first("Code"), code, "{self:?}");
    }
}
