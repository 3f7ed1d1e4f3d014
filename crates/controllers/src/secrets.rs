//! Reads Secrets for providers: by name, live, and without a cache.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_api::resource::SECRETS;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_runtime::cluster::{Cluster, Session};
use machinist_runtime::user_agent::UserAgent;

use crate::cloud_access::messages;

#[derive(Debug, Clone)]
pub struct ClusterSecrets {
    session: Session,
}

#[derive(serde::Deserialize)]
struct Wire {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl ClusterSecrets {
    pub fn new(cluster: &Cluster) -> Self {
        Self { session: cluster.session(UserAgent::CACHE) }
    }
}

impl SecretReader for ClusterSecrets {
    fn read<'a>(&'a self, key: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(async move {
            let path = SECRETS.object_path(&key.namespace, &key.name);
            let timeout = self.session.request_timeout();
            let body = self.session.get(&path, "application/json", timeout).await;
            let body = body.map_err(|error| match error.category() {
                Category::NotFound => invalid(messages::no_secret(key)),
                _ => error.failure(),
            })?;
            parse(&body).ok_or_else(|| invalid(messages::secret_undecodable(key)))
        })
    }
}

/// The message must not contain anything of the Secret.
fn invalid(message: String) -> Failure {
    Failure { category: Category::InvalidConfiguration, retry: Retry::OnChange, message }
}

pub(crate) fn parse(body: &[u8]) -> Option<SecretData> {
    let wire: Wire = serde_json::from_slice(body).ok()?;
    let decoded =
        wire.data.into_iter().map(|(name, value)| Some((name, STANDARD.decode(value).ok()?)));
    Some(SecretData(decoded.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_data_and_prints_only_keys() {
        let data = parse(br#"{"data":{"access_key_id":"QUtJQQ=="}}"#).unwrap();
        assert_eq!(data.text("access_key_id"), Some("AKIA"));
        assert_eq!(format!("{data:?}"), r#"{"access_key_id"}"#);
        assert!(parse(br#"{"data":{"x":"%%%"}}"#).is_none());
    }
}
