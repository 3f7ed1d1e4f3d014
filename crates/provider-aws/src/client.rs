//! Creates EC2 clients, with explicit behaviour, retries, timeouts and name.

use std::sync::Arc;
use std::time::Duration;

use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region};
use aws_sdk_ec2::config::Builder;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::metrics::CallMetrics;
use machinist_provider::parts::Parts;
use machinist_provider::platform::Platform;
use machinist_provider::secret::SecretReader;

use crate::credentials::{self, PROFILE};
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::fence::Fence;
use crate::machines::cluster_settings::ClusterSettings;
use crate::messages;
use crate::quiet::quiet;
use crate::responses::CompleteResponses;
use crate::tls::HttpClients;

/// Pinned, so that an SDK update does not change behaviour.
fn behaviour() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

pub(crate) fn identity(credentials: &Credentials) -> String {
    match credentials {
        Credentials::Ambient => "ambient".to_owned(),
        Credentials::Secret { key, .. } => format!("secret {key}"),
    }
}

/// The service of `CloudAccess::endpoint`, as OpenShift names it.
pub(crate) const ENDPOINT_SERVICE: &str = "ec2";

const STS: &str = "sts";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Connector {
    pub(crate) secrets: Arc<dyn SecretReader>,
    pub(crate) metrics: Arc<dyn CallMetrics>,
    pub(crate) request_timeout: Duration,
    pub(crate) http: Arc<HttpClients>,
    pub(crate) platform: Arc<dyn Platform>,
}

impl Connector {
    pub(crate) fn new(parts: &Parts, http: Arc<HttpClients>) -> Self {
        Self {
            secrets: Arc::clone(&parts.secrets),
            metrics: Arc::clone(&parts.metrics),
            request_timeout: parts.timings.request,
            http,
            platform: Arc::clone(&parts.platform),
        }
    }

    /// The custom endpoint of STS, which exchanges identities for credentials.
    pub(crate) async fn sts_endpoint(&self) -> Result<Option<Arc<str>>, AwsError> {
        let settings = ClusterSettings::of(&*self.platform).await.map_err(AwsError::Access)?;
        Ok(settings.endpoint(STS).map(Arc::from))
    }

    /// Only the client keeps the credentials.
    pub(crate) async fn connect(&self, access: &CloudAccess) -> Result<Ec2, AwsError> {
        let secret = match &access.credentials {
            Credentials::Ambient => None,
            Credentials::Secret { key, .. } => {
                let read = self.secrets.read(key).await;
                Some((key, read.map_err(|failure| AwsError::secret(key, failure))?))
            }
        };
        let needs_sts = match &secret {
            None => credentials::process_has_web_identity(),
            Some((_, data)) => credentials::assumes_a_role(data),
        };
        let sts = if needs_sts { self.sts_endpoint().await? } else { None };
        let http = self.http.trusting(access.ca_bundle.as_ref())?;
        let region = Region::new(access.region.to_string());
        // Callers retry; retries in the SDK would multiply the attempts.
        let retries = RetryConfig::standard().with_max_attempts(1);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT.min(self.request_timeout))
            .operation_attempt_timeout(self.request_timeout)
            .operation_timeout(self.request_timeout)
            .build();

        let chain = ProviderConfig::without_region()
            .with_region(Some(region.clone()))
            .with_behavior_version(Some(behaviour()))
            .with_http_client(http.clone())
            .with_retry_config(retries.clone())
            .with_timeout_config(timeouts.clone());
        let mut loader = aws_config::defaults(behaviour())
            .region(region)
            .http_client(http)
            .retry_config(retries)
            .timeout_config(timeouts);
        if let Ok(name) = AppName::new("machinist") {
            loader = loader.app_name(name);
        }
        loader = match secret {
            None => loader.credentials_provider(credentials::ambient(&chain, sts.as_deref()).await),
            Some((key, data)) => {
                let made = credentials::from_secret(&data, &chain, sts.as_deref());
                let made = made.map_err(|reason| {
                    AwsError::invalid_access(messages::invalid_secret(key, reason))
                })?;
                loader
                    .credentials_provider(made.provider)
                    .profile_files(made.files)
                    .profile_name(PROFILE)
            }
        };

        // This reads `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_EC2`, whatever the source of the credentials.
        let shared = quiet(loader.load()).await;
        let mut config = Builder::from(&shared).interceptor(CompleteResponses).interceptor(Fence);
        if let Some(endpoint) = &access.endpoint {
            config = config.endpoint_url(&**endpoint);
        }
        Ok(Ec2 {
            client: aws_sdk_ec2::Client::from_conf(config.build()),
            access: access.clone(),
            shared,
            metrics: Arc::clone(&self.metrics),
        })
    }
}
