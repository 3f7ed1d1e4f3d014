//! Resolves the clusters from two flags and the environment. Nothing is sent: a wrong flag ends the process at once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::messages;

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

#[derive(Debug, Clone, Default)]
pub struct ClusterFlags {
    /// `--control-kubeconfig`: a path or `in-cluster`.
    pub control: Option<String>,
    /// `--target-kubeconfig`: a path, `in-cluster` or `none`.
    pub target: Option<String>,
    /// `--kubeconfig` of verbs for users: one path.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`: a context of the one cluster's kubeconfig instead of its current one.
    pub context: Option<String>,
}

/// The environment as a value, so that tests need not change the real one.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `$KUBECONFIG`: paths, merged as kubectl merges them.
    pub kubeconfig: Option<OsString>,
    pub home: Option<PathBuf>,
    /// `$KUBERNETES_SERVICE_HOST` and `$KUBERNETES_SERVICE_PORT`.
    pub service: Option<(String, String)>,
    pub service_account: PathBuf,
}

impl Environment {
    pub fn of_process() -> Self {
        let service = std::env::var("KUBERNETES_SERVICE_HOST").ok();
        let port = std::env::var("KUBERNETES_SERVICE_PORT").ok();
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir(),
            service: service.zip(port),
            service_account: PathBuf::from(SERVICE_ACCOUNT),
        }
    }
}

#[derive(Debug)]
pub struct ClusterChoice {
    pub control: Config,
    pub target: TargetChoice,
    /// Where the configuration was found, for the log.
    pub found: String,
}

/// Where the Nodes are.
#[derive(Debug)]
pub enum TargetChoice {
    Same,
    Other(Box<Config>),
    None,
}

/// Why no cluster was resolved. The exit code is 2.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    OnlyOne(&'static str, &'static str),
    Kubeconfig(&'static str, String, Box<KubeconfigError>),
    InCluster(&'static str, String),
    Nothing(String),
    NoKubeconfig(String),
}

const CONTROL: &str = "--control-kubeconfig";
const TARGET: &str = "--target-kubeconfig";
const KUBECONFIG: &str = "--kubeconfig";

pub async fn resolve(
    flags: &ClusterFlags,
    environment: &Environment,
) -> Result<ClusterChoice, ConfigError> {
    match (flags.control.as_deref(), flags.target.as_deref()) {
        (None, None) => {
            let context = flags.context.as_deref();
            let (control, found) = match &flags.kubeconfig {
                Some(path) => {
                    let found = format!("{KUBECONFIG} {}", path.display());
                    (from_files(KUBECONFIG, std::slice::from_ref(path), context).await?, found)
                }
                None => infer(environment, context).await?,
            };
            Ok(ClusterChoice { control, target: TargetChoice::Same, found })
        }
        (Some(_), None) => Err(ConfigError::OnlyOne(CONTROL, TARGET)),
        (None, Some(_)) => Err(ConfigError::OnlyOne(TARGET, CONTROL)),
        (Some(control), Some(target)) => Ok(ClusterChoice {
            control: named(CONTROL, control, environment).await?,
            target: if target == "none" {
                TargetChoice::None
            } else {
                TargetChoice::Other(Box::new(named(TARGET, target, environment).await?))
            },
            found: format!("{CONTROL}={control} {TARGET}={target}"),
        }),
    }
}

async fn named(
    flag: &'static str,
    value: &str,
    environment: &Environment,
) -> Result<Config, ConfigError> {
    if value == "in-cluster" {
        return in_cluster(environment).map_err(|reason| ConfigError::InCluster(flag, reason));
    }
    from_files(flag, &[PathBuf::from(value)], None).await
}

/// As kubectl: `$KUBECONFIG`, then `~/.kube/config`, then the pod's own cluster.
async fn infer(
    environment: &Environment,
    context: Option<&str>,
) -> Result<(Config, String), ConfigError> {
    if let Some(list) = &environment.kubeconfig {
        // kubectl skips missing files of the list as long as one exists.
        let named: Vec<_> =
            std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect();
        let present: Vec<_> = named.iter().filter(|path| path.exists()).cloned().collect();
        let paths = if present.is_empty() { named } else { present };
        let config = from_files("$KUBECONFIG", &paths, context).await?;
        return Ok((config, format!("$KUBECONFIG {}", display(&paths))));
    }
    if let Some(path) = environment.home.as_ref().map(|home| home.join(".kube/config"))
        && path.exists()
    {
        let found = path.display().to_string();
        return Ok((from_files("~/.kube/config", &[path], context).await?, found));
    }
    if let Some(context) = context {
        return Err(ConfigError::NoKubeconfig(context.to_owned()));
    }
    let config = in_cluster(environment).map_err(ConfigError::Nothing)?;
    Ok((config, "the cluster of this pod".to_owned()))
}

async fn from_files(
    flag: &'static str,
    paths: &[PathBuf],
    context: Option<&str>,
) -> Result<Config, ConfigError> {
    let load = async {
        let mut merged: Option<Kubeconfig> = None;
        for path in paths {
            let next = Kubeconfig::read_from(path)?;
            merged = Some(match merged {
                None => next,
                Some(first) => first.merge(next)?,
            });
        }
        let merged = merged.ok_or(KubeconfigError::FindPath)?;
        let context = context.map(str::to_owned);
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(merged, &options).await
    };
    load.await.map_err(|error| ConfigError::Kubeconfig(flag, display(paths), Box::new(error)))
}

/// The cluster of this pod. Files are named, not read, so that rotated tokens and CAs are used.
fn in_cluster(environment: &Environment) -> Result<Config, String> {
    let (host, port) = environment.service.as_ref().ok_or(messages::NO_SERVICE)?;
    let file = |name: &str| {
        let path = environment.service_account.join(name);
        if path.exists() { Ok(path) } else { Err(messages::missing_file(&path)) }
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let url = format!("https://{host}:{port}").parse();
    let mut config = Config::new(url.map_err(messages::bad_address)?);
    config.root_cert_file = Some(file("ca.crt")?);
    config.auth_info.token_file = Some(file("token")?.display().to_string());
    if let Ok(namespace) = std::fs::read_to_string(environment.service_account.join("namespace")) {
        namespace.trim().clone_into(&mut config.default_namespace);
    }
    Ok(config)
}

fn display(paths: &[impl AsRef<Path>]) -> String {
    paths.iter().map(|path| path.as_ref().display().to_string()).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests;
