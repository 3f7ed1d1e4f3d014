//! Texts of the runtime: errors of flags, of requests and of cloud calls, and the lines of `/healthz` and `/readyz`.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use std::time::Duration;

use machinist_api::resource::{CONFIG_MAPS, LEASES, Resource, SECRETS};
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{Freeze, Reason};
use machinist_domain::texts;

use crate::cache::CacheState;
use crate::cluster::config::ConfigError;
use crate::cluster::{ApiError, KubeconfigError};
use crate::queue::Stalled;
use crate::readiness::{LeaseView, Waiting};
use crate::tls::CertificateError;

pub(crate) const NO_SERVICE: &str = "KUBERNETES_SERVICE_HOST and _PORT are not set";
pub(crate) const API_ANSWERS: &str = "API server answers";
pub(crate) const RUNS: &str = "runs";
pub(crate) const NOT_FROZEN: &str = "no freeze is in force";
pub(crate) const READY: &str = "readyz check passed";
pub(crate) const NOT_READY: &str = "readyz check failed";
pub(crate) const TASKS_RUN: &str = "tasks run";
pub(crate) const NO_CERTIFICATE: &str = "it has no certificate in PEM format";
pub(crate) const UNAUTHENTICATED: &str =
    "the request has no bearer token that the API server accepts";
pub(crate) const NOT_REVIEWED: &str =
    "cannot check the bearer token at the API server; the cause is in the log of machinist";

const APPLY_CLUSTER_ROLE: &str = "apply the ClusterRole of this version (deploy/)";
const APPLY_REVIEWS: &str = "grant the rights of deploy/components/secure-metrics";
const APPLY_LEASE_ROLE: &str = "apply the Role for Leases of this version (deploy/)";
const READ_RBAC: &str = "grant it with a Role (docs/start/install.md#rbac)";

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyOne(set, other) => {
                write!(f, "{set} is set but {other} is not: set both or neither")
            }
            Self::Kubeconfig(flag, files, why) => match &**why {
                // Its own text names the file, too.
                KubeconfigError::ReadConfig(why, _) => {
                    write!(f, "{flag}: cannot use {files}: {why}")
                }
                KubeconfigError::LoadContext(context) => {
                    write!(f, "{flag}: {files} has no context {context:?}")
                }
                why => write!(f, "{flag}: cannot use {files}: {why}"),
            },
            Self::InCluster(flag, why) => write!(f, "{flag}=in-cluster: {why}"),
            Self::Nothing(why) => write!(
                f,
                "no cluster found: $KUBECONFIG is not set, there is no ~/.kube/config, \
                 and this is not a pod ({why}); set --kubeconfig or $KUBECONFIG"
            ),
            Self::NoKubeconfig(context) => {
                write!(f, "--context={context} needs a kubeconfig: set --kubeconfig or $KUBECONFIG")
            }
        }
    }
}

texts! {
    pub(crate) fn missing_file(path: &Path) = "{} does not exist", path.display();
    pub(crate) fn bad_address(error: impl Display) =
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not a valid address: {error}";
    pub(crate) fn cannot_listen(flag: &str, address: &str, cause: &io::Error) =
        "cannot listen on {address}: {cause} ({flag}=0 disables it)";
    pub(crate) fn cannot_read_certificate(path: &Path, cause: &io::Error) = "cannot read {}: {cause}", path.display();
    pub(crate) fn bad_certificate(path: &Path, why: &str) = "cannot use {}: {why}", path.display();
    pub(crate) fn cannot_self_sign(why: &str) = "cannot create a self-signed certificate: {why}";
    pub(crate) fn certificate_reloaded(folder: &Path) = "reloaded the certificate in {}", folder.display();
    pub(crate) fn previous_certificate(error: &CertificateError) = "{error}; the previous certificate is still used";
    pub(crate) fn may_not_get(user: &str, path: &str) =
        "user {user} may not get {path}; bind it to a ClusterRole that allows get on the nonResourceURL {path}";
    pub(crate) fn not_written(controller: &str) = "not written: controller {controller} does not hold its Lease";
    pub(crate) fn no_target(controller: &str) = "not written: controller {controller} has no target cluster";
    pub(crate) fn recreated(message: &str) = "the object was deleted and recreated: {message}";
    pub(crate) fn not_called(controller: &str) = "not called: controller {controller} does not hold its Lease";
    pub(crate) fn no_answer_from_cloud(limit: &Duration) = "no answer from the cloud within {limit:?}";
    pub(crate) fn controller(name: &str, state: &str) = "controller {name} {state}";
    pub(crate) fn task_panicked(task: &str, message: &str) =
        "task \"{task}\" panicked: {message}; the process ends, because only a restart continues the task; \
         report this bug with the log";
    pub(crate) fn fetch_panicked(objects: usize, message: &str) =
        "a provider panicked while it described {objects} objects (their state stays unknown): {message}; report \
         this bug of the provider";
    pub(crate) fn cache_task(resource: Resource) = "cache of {resource}";
    pub(crate) fn monitor_task(reason: Reason) = "count for the freeze {}", reason.as_str();
    pub(crate) fn reach_task(url: &str) = "whether {url} answers";
    pub(crate) fn lease_task(controller: &str) = "lease of controller {controller}";
    pub(crate) fn controller_task(controller: &str) = "controller {controller}";
    pub(crate) fn queue_works(controller: &str) = "queue of controller {controller} makes progress";
}

pub(crate) fn cannot_review(path: &str, error: &ApiError) -> String {
    let cure = if error.is_forbidden() { format!("; {APPLY_REVIEWS}") } else { String::new() };
    format!("refused a request for {path}: cannot check its bearer token: {error}{cure}")
}

pub(crate) fn stalled(controller: &str, stalled: &Stalled) -> String {
    match stalled {
        Stalled::Busy(key, time) => {
            let time = time.as_secs();
            format!("queue of controller {controller}: a worker has reconciled {key} for {time}s")
        }
        Stalled::Untaken(key, time) => {
            let time = time.as_secs();
            format!(
                "queue of controller {controller}: {key} is ready, and no worker has taken a key \
                 for {time}s"
            )
        }
    }
}

/// The one definition, and not all of them: on OpenShift those of Machines and MachineSets are OpenShift's own.
fn apply_crd(resource: Resource) -> String {
    format!("apply deploy/crds/{}_{}.yaml", resource.group, resource.plural)
}

/// A ClusterRole grants nothing that is granted by name in single namespaces.
fn grant(resource: Resource) -> &'static str {
    if [SECRETS, CONFIG_MAPS, LEASES].contains(&resource) { READ_RBAC } else { APPLY_CLUSTER_ROLE }
}

pub(crate) fn waits_for(what: &Waiting) -> String {
    match what {
        Waiting::Served(resource) => {
            format!("waits for {}: not known yet whether it is served", resource.crd_name())
        }
        Waiting::Missing(resource) => {
            let (crd, apply) = (resource.crd_name(), apply_crd(*resource));
            format!("waits for {crd}: the CustomResourceDefinition is missing; {apply}")
        }
        Waiting::Forbidden(resource, error) => {
            format!("waits for {}: {error}; {APPLY_CLUSTER_ROLE}", resource.crd_name())
        }
    }
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

pub(crate) fn lease(controller: &str, lease: &ObjectKey, view: LeaseView<'_>) -> String {
    let cure = |error: &ApiError| {
        if error.is_forbidden() { format!("; {APPLY_LEASE_ROLE}") } else { String::new() }
    };
    match view {
        LeaseView::Unread => format!("lease {lease} is not read yet"),
        LeaseView::Unreadable(error) => {
            format!("lease {lease} cannot be read: {error}{}", cure(error))
        }
        LeaseView::NotTaken(error) => {
            format!("lease {lease} cannot be acquired: {error}{}", cure(error))
        }
        LeaseView::NoHolder => format!("lease {lease} has no holder"),
        LeaseView::Ours(holder) => {
            format!("lease {lease} is held by {holder}, which is this process")
        }
        LeaseView::HeldBy(holder) => {
            format!("lease {lease} is held by {holder}, so controller {controller} follows")
        }
    }
}

/// `others` more freezes are in force.
pub(crate) fn frozen(first: &Freeze, others: usize) -> String {
    let Freeze { reason, since, source, text } = first;
    let cause = if text.is_empty() { String::new() } else { format!(": {text}") };
    let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
    let by = if source.is_empty() { String::new() } else { format!(" by the {source}") };
    format!("frozen since {since:.0} ({}){by}{cause}{more}", reason.as_str())
}

pub(crate) fn freezes_unread(resource: Resource, error: Option<&ApiError>) -> String {
    let Some(error) = error else {
        return format!("freezes are not known yet: {resource} are not read");
    };
    let cure = match resource {
        _ if !error.is_forbidden() => String::new(),
        CONFIG_MAPS => format!("; {APPLY_LEASE_ROLE}"),
        _ => format!("; {APPLY_CLUSTER_ROLE}"),
    };
    format!("freezes are not known, so no controller starts: {resource}: {error}{cure}")
}

pub(crate) fn cache(resource: Resource, state: &CacheState, not_served: bool) -> String {
    let mut text = format!("cache of {resource} has {} objects", state.objects);
    if state.undecodable > 0 {
        text = format!("{text}, {} of which cannot be decoded", state.undecodable);
    }
    if let Some(error) = &state.trouble {
        text = format!("{text}; its last list or watch failed: {error}");
        if error.is_forbidden() {
            text = format!("{text}; {}", grant(resource));
        } else if not_served {
            text = format!("{text}; {}", apply_crd(resource));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use machinist_api::resource::{MACHINE_SETS, MACHINES, NAMESPACES};
    use machinist_domain::message_table::message_table;

    use super::*;

    const CONTROL: &str = "--control-kubeconfig";
    const TARGET: &str = "--target-kubeconfig";

    fn refused(code: u16, reason: &str, message: &str) -> ApiError {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        ApiError::Refused { code, reason, message, retry_after: None }
    }

    fn of_freezes(lost: &ApiError) -> [String; 8] {
        let no_config_maps = refused(403, "Forbidden", "configmaps is forbidden");
        let no_namespaces = refused(403, "Forbidden", "namespaces is forbidden");
        let freeze = Freeze {
            reason: Reason::Requested,
            since: "2026-01-02T03:04:05.678Z".parse().unwrap(),
            source: "ConfigMap machinist-system/machinist-freeze".into(),
            text: "network work".into(),
        };
        let found = Freeze {
            reason: Reason::NodesNotReady,
            source: "".into(),
            text: "6 of 10 Nodes of Machines are not ready (limit 50%)".into(),
            ..freeze.clone()
        };
        [
            NOT_FROZEN.to_owned(),
            frozen(&freeze, 0),
            frozen(&freeze, 2),
            frozen(&found, 0),
            freezes_unread(CONFIG_MAPS, None),
            freezes_unread(CONFIG_MAPS, Some(lost)),
            freezes_unread(CONFIG_MAPS, Some(&no_config_maps)),
            freezes_unread(NAMESPACES, Some(&no_namespaces)),
        ]
    }

    #[test]
    fn messages() {
        let text = str::to_owned;
        let panicked = |task: &str| ("`/healthz`, log, stderr", task_panicked(task, "a bug"));
        let minute = Duration::from_secs(60);
        let no_token = missing_file(Path::new("/var/run/secrets/token"));
        let configs = [
            ConfigError::OnlyOne(CONTROL, TARGET),
            ConfigError::Kubeconfig(TARGET, text("a:b"), Box::new(KubeconfigError::FindPath)),
            ConfigError::Kubeconfig(
                "--kubeconfig",
                text("/a"),
                Box::new(KubeconfigError::LoadContext(text("nope"))),
            ),
            ConfigError::InCluster(TARGET, no_token),
            ConfigError::InCluster(TARGET, bad_address("invalid port")),
            ConfigError::Nothing(text(NO_SERVICE)),
            ConfigError::NoKubeconfig(text("prod")),
        ];
        let requests = [
            refused(403, "Forbidden", "machines is forbidden"),
            ApiError::TimedOut(minute),
            ApiError::Disconnected(text("connection refused")),
            ApiError::NotUnderstood(text("expected value at line 1 column 1")),
        ];
        let key = ObjectKey::new("ns", "machinist");
        let forbidden = refused(403, "Forbidden", "leases is forbidden");
        let lost = ApiError::Disconnected(text("connection refused"));
        let no_secrets = refused(403, "Forbidden", "secrets is forbidden");
        let no_machines = refused(403, "Forbidden", "machines.machine.openshift.io is forbidden");
        let not_found =
            refused(404, "NotFound", "the server could not find the requested resource");
        let trouble = |error: &ApiError| CacheState {
            synced: false,
            objects: 9,
            undecodable: 2,
            age: None,
            trouble: Some(error.clone()),
        };
        let waits = |what: Waiting| controller("machineset", &waits_for(&what));
        let busy = Stalled::Busy(key.clone(), minute);
        let mut rows: Vec<_> = configs.map(|error| ("stderr", error.to_string())).into();
        let port = io::Error::from(io::ErrorKind::AddrInUse);
        rows.push(("stderr", cannot_listen("--health-addr", ":9440", &port)));
        let (folder, file) = (Path::new("/certs"), Path::new("/certs/tls.crt"));
        let unusable = CertificateError::Unusable(file.to_owned(), text(NO_CERTIFICATE));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        rows.extend([
            ("log, stderr", CertificateError::Read(file.to_owned(), missing).to_string()),
            ("stderr", CertificateError::SelfSigned(text("no random numbers")).to_string()),
            ("log", certificate_reloaded(folder)),
            ("log", previous_certificate(&unusable)),
            ("`/metrics`", text(UNAUTHENTICATED)),
            ("`/metrics`", may_not_get("system:serviceaccount:ns:name", "/metrics")),
            ("`/metrics`", text(NOT_REVIEWED)),
            ("log", cannot_review("/metrics", &ApiError::TimedOut(minute))),
            (
                "log",
                cannot_review("/metrics", &refused(403, "Forbidden", "tokenreviews is forbidden")),
            ),
        ]);
        rows.extend(requests.map(|error| ("API request", error.to_string())));
        rows.extend([
            ("API request", not_written("machine")),
            ("API request", no_target("machine")),
            ("API request", recreated("UID in precondition: a, UID in object meta: b")),
            ("cloud call", not_called("machine")),
            ("cloud call", no_answer_from_cloud(&minute)),
            ("`/healthz`", text(TASKS_RUN)),
            panicked(&cache_task(MACHINE_SETS)),
            panicked(&reach_task("https://10.0.0.1/")),
            panicked(&monitor_task(Reason::NodesNotReady)),
            panicked(&lease_task("machine")),
            panicked(&controller_task("machine")),
            ("log", fetch_panicked(3, "a bug")),
            ("`/healthz`", queue_works("machine")),
            ("`/healthz`", stalled("machine", &busy)),
            ("`/healthz`", stalled("machine", &Stalled::Untaken(key.clone(), minute))),
            ("`/readyz`", text(API_ANSWERS)),
            ("`/readyz`", controller("machine", RUNS)),
            ("`/readyz`", waits(Waiting::Served(MACHINE_SETS))),
            ("`/readyz`", waits(Waiting::Missing(MACHINE_SETS))),
            ("`/readyz`", waits(Waiting::Forbidden(MACHINES, no_machines.clone()))),
            ("`/readyz`", cache(MACHINES, &trouble(&no_machines), false)),
            ("`/readyz`", cache(SECRETS, &trouble(&no_secrets), false)),
            ("`/readyz`", cache(MACHINE_SETS, &trouble(&not_found), true)),
            ("`/readyz`", text(READY)),
            ("`/readyz`", text(NOT_READY)),
        ]);
        let views = [
            LeaseView::Unread,
            LeaseView::Unreadable(&forbidden),
            LeaseView::Unreadable(&lost),
            LeaseView::NotTaken(&forbidden),
            LeaseView::NoHolder,
            LeaseView::Ours("pod-1"),
            LeaseView::HeldBy("pod-2"),
        ];
        rows.extend(views.map(|view| ("`/readyz`", lease("machine", &key, view))));
        rows.extend(of_freezes(&lost).map(|text| ("`/readyz`", text)));
        let rows: Vec<_> = rows.into_iter().map(|(place, text)| (place, "", text)).collect();
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
