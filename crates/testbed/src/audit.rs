//! The API server's audit log: one JSON line per finished request, at level Metadata (no bodies, no secrets) unless
//! another policy is a flag, see [`POLICY_WITH_BODIES`]. A line that is still being written stays for the next call.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use machinist_control_plane::ControlPlane;
use serde::Deserialize;
use serde_json::Value;

/// The bodies of writes, too, apart from those that may hold secrets. For a file that `--audit-policy-file` names.
pub const POLICY_WITH_BODIES: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [get, list, watch]
- level: Metadata
  resources:
  - group: \"\"
    resources: [secrets, serviceaccounts/token]
  - group: authentication.k8s.io
- level: RequestResponse
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub audit_id: String,
    pub received: Timestamp,
    pub completed: Timestamp,
    pub user: String,
    pub user_agent: String,
    pub verb: String,
    /// Empty for the core group and for requests that are not about a resource.
    pub group: String,
    /// Plural; empty for requests such as `/readyz`.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    /// Empty for lists, watches and creates with `generateName`.
    pub name: String,
    pub code: u16,
    pub request_uri: String,
    /// If the policy is to log it.
    pub request: Option<Value>,
    /// The object as it was afterwards, or a `Status`, if the policy is to log it.
    pub response: Option<Value>,
}

impl AuditEntry {
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch" | "options" | "head")
    }
}

/// Each reader has a position of its own.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
    offset: u64,
}

impl AuditLog {
    pub fn of(control_plane: &ControlPlane) -> Self {
        Self::from_start(&control_plane.folder().join("audit.log"))
    }

    pub fn from_start(path: &Path) -> Self {
        Self { path: path.to_owned(), offset: 0 }
    }

    pub fn skip_to_end(&mut self) -> Result<()> {
        self.offset = std::fs::metadata(&self.path).with_context(|| self.unreadable())?.len();
        Ok(())
    }

    /// Since the last call, in the order in which they finished.
    pub fn read_new(&mut self) -> Result<Vec<AuditEntry>> {
        let mut text = Vec::new();
        File::open(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(self.offset))?;
                file.read_to_end(&mut text)
            })
            .with_context(|| self.unreadable())?;
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let mut entries = Vec::new();
        for line in text[..complete].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            entries.extend(parse(line)?);
        }
        self.offset += complete as u64;
        Ok(entries)
    }

    fn unreadable(&self) -> String {
        format!("cannot read {}", self.path.display())
    }
}

fn parse(line: &[u8]) -> Result<Option<AuditEntry>> {
    let event: Event = serde_json::from_slice(line)
        .with_context(|| format!("not an audit event: {}", String::from_utf8_lossy(line)))?;
    Ok((event.stage == "ResponseComplete").then(|| event.into()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_object: Option<Value>,
    response_object: Option<Value>,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl From<Event> for AuditEntry {
    fn from(event: Event) -> Self {
        Self {
            audit_id: event.audit_id,
            received: event.request_received_timestamp,
            completed: event.stage_timestamp,
            user: event.user.username,
            user_agent: event.user_agent,
            verb: event.verb,
            group: event.object_ref.api_group,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            code: event.response_status.code,
            request_uri: event.request_uri,
            request: event.request_object,
            response: event.response_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::AuditLog;

    const LINE: &str = concat!(
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a1","#,
        r#""stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/configmaps","#,
        r#""verb":"create","user":{"username":"admin","groups":["system:masters"]},"#,
        r#""sourceIPs":["127.0.0.1"],"userAgent":"test/1","objectRef":{"resource":"configmaps","#,
        r#""namespace":"default","name":"x","apiVersion":"v1"},"#,
        r#""responseStatus":{"metadata":{},"code":201},"#,
        r#""requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","#,
        r#""stageTimestamp":"2026-01-02T03:04:05.000002Z"}"#,
    );

    #[test]
    fn a_half_written_line_waits_for_its_end() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut log = AuditLog::from_start(file.path());
        let (head, tail) = LINE.split_at(100);
        write!(file, "{LINE}\n{head}").unwrap();
        let entries = log.read_new().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].verb.as_str(), entries[0].code), ("create", 201));
        assert!(entries[0].is_write());
        writeln!(file, "{tail}").unwrap();
        assert_eq!(log.read_new().unwrap().len(), 1);
        assert!(log.read_new().unwrap().is_empty());
    }

    #[test]
    fn other_stages_are_left_out() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{}", LINE.replace("ResponseComplete", "ResponseStarted")).unwrap();
        assert!(AuditLog::from_start(file.path()).read_new().unwrap().is_empty());
    }
}
