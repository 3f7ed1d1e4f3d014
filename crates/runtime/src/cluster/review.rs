//! Questions about a user that only the API server answers: `TokenReview` and `SubjectAccessReview`.
//!
//! RBAC calls them `create`, and they are POST requests, because the question is a body. But they are no writes: the
//! API server answers, stores nothing, and shows nothing of it to later reads. So they do not go through
//! [`crate::writer`]: they need no Lease, are sent in a dry run, and are not counted as a controller's writes. Nothing
//! else can be sent from here.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ApiError, Session};

const JSON: &str = "application/json";

/// A user as the API server knows it. What is not read is returned as it came.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct User {
    pub(crate) username: String,
    uid: Value,
    groups: Value,
    extra: Value,
}

#[derive(Deserialize)]
struct Answer<T> {
    status: T,
}

#[derive(Deserialize)]
struct Authentication {
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    user: Option<User>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Authorization {
    allowed: bool,
    denied: bool,
}

impl Session {
    /// The user of a token; `None` if the API server does not accept it.
    pub(crate) async fn authenticate(
        &self,
        token: &str,
        timeout: Duration,
    ) -> Result<Option<User>, ApiError> {
        let question = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let Authentication { authenticated, user } = self.ask(path, &question, timeout).await?;
        Ok(user.filter(|_| authenticated))
    }

    /// Whether a user may `get` this path of an API that has no resources (a nonResourceURL).
    pub(crate) async fn may_get(
        &self,
        user: &User,
        path: &str,
        timeout: Duration,
    ) -> Result<bool, ApiError> {
        let User { username, uid, groups, extra } = user;
        let question = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": username,
                "uid": uid,
                "groups": groups,
                "extra": extra,
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let Authorization { allowed, denied } = self.ask(path, &question, timeout).await?;
        Ok(allowed && !denied)
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
        question: &Value,
        timeout: Duration,
    ) -> Result<T, ApiError> {
        let body = Some((JSON, question.to_string().into()));
        let answer = self.exchange(Method::POST, path, JSON, body, timeout).await?;
        let Answer { status } = serde_json::from_slice(&answer)?;
        Ok(status)
    }
}
