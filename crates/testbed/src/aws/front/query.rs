//! Requests in the Query protocol: a form with `Action`, `Version` and flat parameters (`Filter.1.Value.2`).
//! Signatures are not checked (moto does not either); only the credential scope is read.

use std::collections::BTreeMap;

use bytes::Bytes;
use form_urlencoded::{Serializer, parse};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Request, Uri};

const FORM: &str = "application/x-www-form-urlencoded";

pub(in crate::aws) type Parameters = BTreeMap<String, String>;

#[derive(Clone, Debug)]
pub(in crate::aws) struct Query {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) service: String,
    pub(super) region: String,
    pub(super) access_key_id: String,
    pub(super) action: String,
    version: String,
    pub(super) parameters: Parameters,
}

impl Query {
    pub(super) fn read(request: Request<Bytes>) -> Self {
        let (head, body) = request.into_parts();
        let [access_key_id, region, service] = credential_scope(&head.headers);
        let content_type = head.headers.get(CONTENT_TYPE);
        let is_form =
            content_type.is_some_and(|value| value.as_bytes().starts_with(FORM.as_bytes()));
        let form = if is_form { &body } else { head.uri.query().unwrap_or_default().as_bytes() };
        let mut parameters: Parameters = parse(form).into_owned().collect();
        let version = parameters.remove("Version").unwrap_or_default();
        let action = parameters.remove("Action").unwrap_or_else(|| {
            let target = head.headers.get("x-amz-target");
            let target = target.and_then(|target| target.to_str().ok());
            target.map_or_else(|| format!("{} {}", head.method, head.uri.path()), str::to_owned)
        });
        Self {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
            service,
            region,
            access_key_id,
            action,
            version,
            parameters,
        }
    }

    pub(super) fn with(&self, parameters: Parameters) -> Self {
        let body = Serializer::new(String::new())
            .append_pair("Action", &self.action)
            .append_pair("Version", &self.version)
            .extend_pairs(&parameters)
            .finish();
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        Self {
            method: Method::POST,
            uri: Uri::from_static("/"),
            headers,
            body: body.into(),
            parameters,
            ..self.clone()
        }
    }

    /// With the credentials and in the region of this request.
    pub(super) fn ask(&self, service: &str, action: &str, parameters: &[(&str, &str)]) -> Self {
        let version = match service {
            "autoscaling" => "2011-01-01",
            "sts" => "2011-06-15",
            _ => "2016-11-15",
        };
        let asker = [&*self.access_key_id, &self.region];
        Self::question(asker, [service, version], action, parameters)
    }

    pub(in crate::aws) fn question(
        [access_key_id, region]: [&str; 2],
        [service, version]: [&str; 2],
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Self {
        let scope = format!(
            "AWS4-HMAC-SHA256 Credential={access_key_id}/20260101/{region}/{service}/aws4_request, \
             SignedHeaders=host, Signature=0"
        );
        let mut headers = HeaderMap::new();
        // The access key id and the region fit into a header.
        headers.extend(HeaderValue::try_from(scope).map(|scope| (AUTHORIZATION, scope)));
        let parameters = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let template = Self {
            method: Method::POST,
            uri: Uri::from_static("/"),
            headers,
            body: Bytes::new(),
            service: service.to_owned(),
            region: region.to_owned(),
            access_key_id: access_key_id.to_owned(),
            action: action.to_owned(),
            version: version.to_owned(),
            parameters: Parameters::new(),
        };
        template.with(parameters)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Of a list parameter (`InstanceId.1`, `InstanceId.2`), or of its single form.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        let is_item = |key: &str| {
            key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_index(rest))
        };
        self.parameters
            .iter()
            .filter(|(key, _)| is_item(key))
            .map(|(_, value)| value.as_str())
            .collect()
    }
}

fn is_index(rest: &str) -> bool {
    rest.strip_prefix('.')
        .is_some_and(|index| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()))
}

/// Access key id, region and service, from `Credential=AKID/20260101/eu-west-1/ec2/aws4_request`.
fn credential_scope(headers: &HeaderMap) -> [String; 3] {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let scope = header.and_then(|header| {
        let (_, rest) = header.split_once("Credential=")?;
        rest.split([',', ' ']).next()
    });
    let mut parts = scope.unwrap_or_default().split('/');
    let access_key_id = parts.next().unwrap_or_default().to_owned();
    let mut next = parts.skip(1).map(str::to_owned);
    let region = next.next().unwrap_or_default();
    [access_key_id, region, next.next().unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &'static str) -> Query {
        let request = Request::post("/")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
            .header(
                AUTHORIZATION,
                "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/ec2/aws4_request, Signature=0",
            )
            .body(Bytes::from_static(body.as_bytes()));
        Query::read(request.unwrap())
    }

    #[test]
    fn action_scope_and_parameters_are_read() {
        let query =
            request("Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-1&Note=a%26b");
        assert_eq!(query.action, "TerminateInstances");
        let scope = [query.access_key_id.as_str(), &query.region, &query.service];
        assert_eq!(scope, ["AKID", "eu-west-1", "ec2"]);
        assert_eq!(query.get("Note"), Some("a&b"));
        assert_eq!(query.get("Version"), None);
    }

    #[test]
    fn lists_take_numbered_and_single_parameters_only() {
        let query = request(
            "Action=X&InstanceId.1=i-1&InstanceId.10=i-2&InstanceId=i-3&InstanceIdentity=no",
        );
        assert_eq!(query.list("InstanceId"), ["i-3", "i-1", "i-2"]);
    }

    #[test]
    fn a_question_keeps_credentials_and_region() {
        let query = request("Action=X").ask("sts", "GetCallerIdentity", &[("A", "b c")]);
        let again = Request::post("/").body(query.body.clone()).unwrap();
        let (mut head, body) = again.into_parts();
        head.headers = query.headers.clone();
        let again = Query::read(Request::from_parts(head, body));
        assert_eq!(again.action, "GetCallerIdentity");
        let scope = [again.access_key_id.as_str(), &again.region, &again.service];
        assert_eq!(scope, ["AKID", "eu-west-1", "sts"]);
        assert_eq!(again.get("A"), Some("b c"));
    }

    #[test]
    fn other_protocols_have_an_action_too() {
        let request = Request::put("/bucket/key").body(Bytes::new()).unwrap();
        assert_eq!(Query::read(request).action, "PUT /bucket/key");
    }
}
