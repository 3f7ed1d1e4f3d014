//! Any request can be described; one that is not about a resource (`/version`) has an empty `resource`.

use std::fmt;

use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;

use super::query_call;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Also a path that is no resource.
    Get,
    List,
    Watch,
    Create,
    Update,
    /// Of any type, server-side apply included.
    Patch,
    Delete,
    DeleteCollection,
    Other,
}

impl Verb {
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection
        )
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct ApiRequest {
    pub user_agent: String,
    pub verb: Verb,
    /// Empty for the core group; for a cloud behind the same proxy its name.
    pub group: String,
    /// Plural; empty for a path that is none.
    pub resource: String,
    pub subresource: Option<String>,
    pub namespace: Option<String>,
    /// For a create from the body, `generateName` followed by `*`; for an Event the object it is about and its reason.
    pub name: Option<String>,
    pub path: String,
    pub body: Bytes,
}

impl ApiRequest {
    pub(super) fn new(parts: &Parts, body: Bytes) -> Self {
        let query = parts.uri.query().unwrap_or_default();
        if let Some(call) = query_call::read(parts, &body) {
            return call;
        }
        let target = Target::parse(parts.uri.path());
        let verb = verb(&parts.method, &target, query);
        let name = match verb {
            Verb::Create if target.name.is_none() => name_from_body(&target.resource, &body),
            _ => target.name,
        };
        Self {
            user_agent: header(parts, &http::header::USER_AGENT).to_owned(),
            verb,
            group: target.group,
            resource: target.resource,
            subresource: target.subresource,
            namespace: target.namespace,
            name,
            path: parts.uri.path().to_owned(),
            body,
        }
    }

    /// To AWS or what stands in for it.
    pub fn is_query_call(&self) -> bool {
        self.verb != Verb::Other && self.path.starts_with(query_call::UNDER)
    }

    pub const fn is_write(&self) -> bool {
        self.verb.is_write()
    }

    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.verb,
            if self.resource.is_empty() { &self.path } else { &self.resource }
        )?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (Some(namespace), None) => write!(f, " {namespace}/"),
            (None, Some(name)) => write!(f, " {name}"),
            (None, None) => Ok(()),
        }
    }
}

/// Without the body: it may be a Secret.
impl fmt::Debug for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiRequest({self} by {:?}, {} bytes)", self.user_agent, self.body.len())
    }
}

pub(super) fn header<'a>(parts: &'a Parts, name: &http::HeaderName) -> &'a str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[derive(Default)]
struct Target {
    group: String,
    resource: String,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Target {
    /// By the rules of the API server.
    fn parse(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, mut rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis" | "clouds", group, _version, rest @ ..] => (*group, rest),
            _ => return Self::default(),
        };
        let mut namespace = None;
        // `namespaces/x/status` is about the namespace itself, `namespaces/x/pods` is about pods.
        if let ["namespaces", inside, more @ ..] = rest
            && !matches!(more, [] | ["status" | "finalize", ..])
        {
            namespace = Some((*inside).to_owned());
            rest = more;
        }
        let owned = |index: usize| rest.get(index).map(|part| (*part).to_owned());
        Self {
            group: group.to_owned(),
            resource: owned(0).unwrap_or_default(),
            name: owned(1),
            subresource: owned(2),
            namespace,
        }
    }
}

fn verb(method: &http::Method, target: &Target, query: &str) -> Verb {
    let watches =
        || query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"));
    match method.as_str() {
        "GET" if target.resource.is_empty() => Verb::Get,
        "GET" if watches() => Verb::Watch,
        "GET" if target.name.is_none() => Verb::List,
        "GET" => Verb::Get,
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" if target.name.is_none() => Verb::DeleteCollection,
        "DELETE" => Verb::Delete,
        _ => Verb::Other,
    }
}

fn name_from_body(resource: &str, body: &Bytes) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    if resource == "events" {
        // An Event's own name is made of random digits; its regarding object and reason are what repeats.
        let about = text("/regarding/name").or_else(|| text("/involvedObject/name"));
        if let (Some(about), Some(reason)) = (about, text("/reason")) {
            return Some(format!("{about} {reason}"));
        }
    }
    text("/metadata/name")
        .map(str::to_owned)
        .or_else(|| text("/metadata/generateName").map(|prefix| format!("{prefix}*")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(method: &str, uri: &str, body: &str) -> String {
        let (parts, ()) =
            http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        let request = ApiRequest::new(&parts, Bytes::copy_from_slice(body.as_bytes()));
        format!("{request} [{}]", request.group)
    }

    #[test]
    fn paths_are_read_as_the_api_server_reads_them() {
        let cases = [
            ("GET", "/api/v1/namespaces/a/configmaps", "list configmaps a/ []"),
            ("GET", "/api/v1/configmaps?limit=5&watch=true", "watch configmaps []"),
            ("GET", "/api/v1/namespaces/a/configmaps/x", "get configmaps a/x []"),
            ("GET", "/api/v1/namespaces/a", "get namespaces a []"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update namespaces/finalize a []"),
            ("GET", "/api/v1/nodes/n1", "get nodes n1 []"),
            ("GET", "/version?timeout=1s", "get /version []"),
            ("DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete deployments a/d [apps]"),
            ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection pods a/ []"),
            (
                "PATCH",
                "/apis/machine.openshift.io/v1beta1/namespaces/m/machinesets/s/status",
                "patch machinesets/status m/s [machine.openshift.io]",
            ),
            ("POST", "/api/v1/namespaces/a/pods/p/eviction", "create pods/eviction a/p []"),
            ("DELETE", "/clouds/sim/v1/instances/i-1", "delete instances i-1 [sim]"),
        ];
        for (method, uri, expected) in cases {
            assert_eq!(describe(method, uri, ""), expected, "{method} {uri}");
        }
    }

    #[test]
    fn a_create_is_named_by_its_body() {
        let path = "/api/v1/namespaces/a/configmaps";
        let named = r#"{"metadata":{"name":"x"}}"#;
        assert_eq!(describe("POST", path, named), "create configmaps a/x []");
        let generated = r#"{"metadata":{"generateName":"x-"}}"#;
        assert_eq!(describe("POST", path, generated), "create configmaps a/x-* []");
        assert_eq!(describe("POST", path, "no json"), "create configmaps a/ []");
    }

    #[test]
    fn an_event_is_named_by_what_it_says() {
        let path = "/apis/events.k8s.io/v1/namespaces/a/events";
        let event = r#"{"metadata":{"name":"x.17ab"},"regarding":{"name":"x"},"reason":"Done"}"#;
        assert_eq!(describe("POST", path, event), "create events a/x Done [events.k8s.io]");
    }
}
