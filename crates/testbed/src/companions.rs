//! kube-controller-manager, kube-scheduler and kwok beside a control plane: a whole cluster without machines.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use machinist_control_plane::binaries::{Binary, Sources};
use machinist_control_plane::{ControlPlane, children};
use tokio::process::{Child, Command};

use crate::go_module;

const KWOK_MODULE: &str = "sigs.k8s.io/kwok";
const KWOK_FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../../tools/control-plane/kwok/go.mod")),
    ("go.sum", include_str!("../../../tools/control-plane/kwok/go.sum")),
];
/// kwok does nothing without stages.
const KWOK_STAGE_FOLDERS: [&str; 3] = ["node/fast", "node/heartbeat-with-lease", "pod/fast"];

#[derive(Debug)]
pub struct Companions {
    _children: Vec<Child>,
}

impl Companions {
    /// Nothing waits until they work.
    pub async fn start(control_plane: &ControlPlane) -> Result<Self> {
        let sources = Sources::from_env()?;
        let folder = control_plane.folder();
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let kubeconfig = flag("kubeconfig", control_plane.kubeconfig_path());
        let kubernetes = [
            kubeconfig.clone(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            // The defaults (20 requests per second) are for a shared cluster.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=1000".to_owned(),
        ];
        let mut controller_manager = kubernetes.to_vec();
        controller_manager.extend([
            flag("root-ca-file", &folder.join("internal/ca.crt")),
            flag("service-account-private-key-file", &folder.join("internal/tokens.key")),
        ]);
        let module = go_module::folder_of(&KWOK_FILES, KWOK_MODULE).await;
        let stages = folder.join("kwok-stages.yaml");
        std::fs::write(&stages, kwok_stages(&module.context("kwok's stage files")?)?)?;
        let kwok = vec![
            kubeconfig,
            flag("config", &stages),
            "--manage-all-nodes=true".to_owned(),
            "--node-ip=127.0.0.1".to_owned(),
            // Any port; without this flag it listens on all interfaces.
            "--server-address=127.0.0.1:0".to_owned(),
        ];
        let mut running = Vec::new();
        for (binary, flags) in [
            (Binary::KubeControllerManager, controller_manager),
            (Binary::KubeScheduler, kubernetes.to_vec()),
            (Binary::Kwok, kwok),
        ] {
            let log = File::create(folder.join(format!("logs/{binary}.log")))?;
            let mut command = Command::new(sources.find(binary, None).await?);
            command.args(flags).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
            running.push(children::spawn(&mut command).context(binary)?);
        }
        Ok(Self { _children: running })
    }
}

fn kwok_stages(module: &Path) -> Result<String> {
    let mut stages = String::new();
    for folder in KWOK_STAGE_FOLDERS {
        let folder = module.join("kustomize/stage").join(folder);
        let mut files = std::fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()?;
        // Beside the stages there are test data, Go code and notes.
        files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
        files.sort();
        for file in files {
            let content = std::fs::read_to_string(&file)?;
            if content.lines().any(|line| line == "kind: Stage") {
                stages.push_str("---\n");
                stages.push_str(&content);
                stages.push('\n');
            }
        }
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::{KWOK_STAGE_FOLDERS, kwok_stages};

    #[test]
    fn only_stages_are_taken_from_the_module() {
        let module = tempfile::tempdir().unwrap();
        for folder in KWOK_STAGE_FOLDERS {
            let folder = module.path().join("kustomize/stage").join(folder);
            std::fs::create_dir_all(folder.join("testdata")).unwrap();
            std::fs::write(folder.join("README.md"), "kind: Stage").unwrap();
            std::fs::write(folder.join("kustomization.yaml"), "kind: Kustomization").unwrap();
            std::fs::write(folder.join("stage.yaml"), "kind: Stage\nmetadata: {}").unwrap();
        }
        let stages = kwok_stages(module.path()).unwrap();
        assert_eq!(stages, "---\nkind: Stage\nmetadata: {}\n".repeat(3));
    }

    #[test]
    fn a_module_without_stages_is_an_error() {
        let module = tempfile::tempdir().unwrap();
        assert!(kwok_stages(module.path()).is_err());
    }
}
