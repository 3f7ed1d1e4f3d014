//! Texts of the runtime: errors of flags, of requests and of cloud calls, and the lines of `/readyz`.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use std::time::Duration;

use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use machinist_domain::texts;

use crate::cache::CacheState;
use crate::cluster::ApiError;
use crate::cluster::config::ConfigError;

pub(crate) const NO_SERVICE: &str = "KUBERNETES_SERVICE_HOST and _PORT are not set";
pub(crate) const API_ANSWERS: &str = "API server answers";
pub(crate) const RUNS: &str = "runs";

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyOne(set, other) => {
                write!(f, "{set} is set but {other} is not: set both or neither")
            }
            Self::Kubeconfig(flag, files, why) => write!(f, "{flag}: cannot use {files}: {why}"),
            Self::InCluster(flag, why) => write!(f, "{flag}=in-cluster: {why}"),
            Self::Nothing(why) => write!(
                f,
                "no cluster found: $KUBECONFIG is not set, there is no ~/.kube/config, \
                 and this is not a pod ({why})"
            ),
        }
    }
}

texts! {
    pub(crate) fn missing_file(path: &Path) = "{} does not exist", path.display();
    pub(crate) fn bad_address(error: impl Display) = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not a valid address: {error}";
    pub(crate) fn cannot_listen(flag: &str, address: &str, cause: &io::Error) =
        "cannot listen on {address}: {cause} ({flag}=0 disables it)";
    pub(crate) fn not_written(controller: &str) = "not written: controller {controller} does not hold its Lease";
    pub(crate) fn no_target(controller: &str) = "not written: controller {controller} has no target cluster";
    pub(crate) fn recreated(message: &str) = "the object was deleted and recreated: {message}";
    pub(crate) fn not_called(controller: &str) = "not called: controller {controller} does not hold its Lease";
    pub(crate) fn no_answer_from_cloud(limit: &Duration) = "no answer from the cloud within {limit:?}";
    pub(crate) fn controller(name: &str, state: &str) = "controller {name} {state}";
    pub(crate) fn waits_for(crd: &str) = "waits for {crd}";
}

impl Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code, reason, message, .. } => {
                write!(f, "the API server answered {code} {reason}: {message}")
            }
            Self::TimedOut(limit) => write!(f, "no answer from the API server within {limit:?}"),
            Self::Disconnected(why) => write!(f, "no connection to the API server: {why}"),
            Self::NotUnderstood(why) => write!(f, "cannot decode the API server's response: {why}"),
        }
    }
}

/// The holder of a lease; empty if there is none.
pub(crate) fn lease(controller: &str, lease: &ObjectKey, holder: &str, ours: bool) -> String {
    match holder {
        "" => format!("lease {lease} has no holder"),
        holder if ours => format!("lease {lease} is held by {holder}, which is this process"),
        holder => format!("lease {lease} is held by {holder}, so controller {controller} follows"),
    }
}

pub(crate) fn cache(resource: Resource, state: &CacheState) -> String {
    let mut text = format!("cache of {resource} has {} objects", state.objects);
    if state.undecodable > 0 {
        text = format!("{text}, {} of which cannot be decoded", state.undecodable);
    }
    if let Some(error) = &state.trouble {
        text = format!("{text}; its last list or watch failed: {error}");
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::config::KubeconfigError;
    use machinist_api::resource::MACHINE_SETS;
    use machinist_domain::message_table::message_table;

    use super::*;

    const CONTROL: &str = "--control-kubeconfig";
    const TARGET: &str = "--target-kubeconfig";

    #[test]
    fn messages() {
        let text = str::to_owned;
        let minute = Duration::from_secs(60);
        let no_token = missing_file(Path::new("/var/run/secrets/token"));
        let configs = [
            ConfigError::OnlyOne(CONTROL, TARGET),
            ConfigError::Kubeconfig(TARGET, text("a:b"), Box::new(KubeconfigError::FindPath)),
            ConfigError::InCluster(TARGET, no_token),
            ConfigError::InCluster(TARGET, bad_address("invalid port")),
            ConfigError::Nothing(text(NO_SERVICE)),
        ];
        let requests = [
            ApiError::Refused {
                code: 403,
                reason: text("Forbidden"),
                message: text("machines is forbidden"),
                retry_after: None,
            },
            ApiError::TimedOut(minute),
            ApiError::Disconnected(text("connection refused")),
            ApiError::NotUnderstood(text("expected value at line 1 column 1")),
        ];
        let key = ObjectKey::new("ns", "machinist");
        let trouble = Some(text("the API server answered 403"));
        let state = CacheState { synced: false, objects: 9, undecodable: 2, age: None, trouble };
        let mut rows: Vec<_> = configs.map(|error| ("stderr", error.to_string())).into();
        let port = io::Error::from(io::ErrorKind::AddrInUse);
        rows.push(("stderr", cannot_listen("--health-addr", ":9440", &port)));
        rows.extend(requests.map(|error| ("API request", error.to_string())));
        rows.extend([
            ("API request", not_written("machine")),
            ("API request", no_target("machine")),
            ("API request", recreated("UID in precondition: a, UID in object meta: b")),
            ("cloud call", not_called("machine")),
            ("cloud call", no_answer_from_cloud(&minute)),
            ("`/readyz`", text(API_ANSWERS)),
            ("`/readyz`", controller("machine", RUNS)),
            ("`/readyz`", controller("machine", &waits_for("machines.machine.openshift.io"))),
            ("`/readyz`", lease("machine", &key, "", false)),
            ("`/readyz`", lease("machine", &key, "pod-1", true)),
            ("`/readyz`", lease("machine", &key, "pod-2", false)),
            ("`/readyz`", cache(MACHINE_SETS, &state)),
        ]);
        let rows: Vec<_> = rows.into_iter().map(|(place, text)| (place, "", text)).collect();
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
