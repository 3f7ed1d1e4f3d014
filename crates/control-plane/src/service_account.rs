//! Clients that act as a `ServiceAccount`, so that RBAC manifests are tested and not assumed.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::error::Error;

/// Longer than any test or demonstration; such a client does not renew its token.
const LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// A token for an existing account.
pub(crate) async fn token(admin: Client, namespace: &str, name: &str) -> Result<String, Error> {
    let accounts = Api::<ServiceAccount>::namespaced(admin, namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(LIFETIME_SECONDS),
            ..Default::default()
        }),
        ..Default::default()
    };
    let what = format!("cannot get a token for service account {namespace}/{name}");
    accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .map_err(Error::api(what))?
        .status
        .and_then(|status| status.token)
        .ok_or_else(|| Error::NoToken { namespace: namespace.to_owned(), name: name.to_owned() })
}
