//! A subject in a process of its own, which dies by SIGKILL.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result};
use machinist_control_plane::children;
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

use super::{Launch, Running, Subject};

/// `{namespace}`, `{kubeconfig}` and `{cloud}` in arguments and variables are replaced; `KUBECONFIG` is always set.
#[derive(Debug)]
pub struct ProcessSubject {
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    output: Option<PathBuf>,
    starts: AtomicU32,
}

impl ProcessSubject {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            output: None,
            starts: AtomicU32::new(0),
        }
    }

    #[must_use]
    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In `folder/<namespace>-<n>.log`; by default it is thrown away.
    #[must_use]
    pub fn output(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output = Some(folder.into());
        self
    }

    fn log_file(&self, folder: &Path, launch: &Launch) -> Result<Stdio> {
        let start = self.starts.fetch_add(1, Ordering::Relaxed);
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}-{start}.log", launch.namespace));
        Ok(std::fs::File::create(&path).with_context(|| path.display().to_string())?.into())
    }
}

impl Subject for ProcessSubject {
    type Running = RunningProcess;

    async fn start(&self, launch: &Launch) -> Result<RunningProcess> {
        let kubeconfig = NamedTempFile::new().context("a file for the kubeconfig")?;
        tokio::fs::write(kubeconfig.path(), &launch.kubeconfig).await?;
        let path = kubeconfig.path().to_string_lossy().into_owned();
        let fill = |text: &str| -> OsString {
            let cloud = launch.cloud.as_deref().unwrap_or_default();
            let text = text.replace("{namespace}", &launch.namespace);
            text.replace("{kubeconfig}", &path).replace("{cloud}", cloud).into()
        };
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments.iter().map(|argument| fill(argument)))
            .envs(self.variables.iter().map(|(name, value)| (name, fill(value))))
            .env("KUBECONFIG", kubeconfig.path())
            .stdin(Stdio::null());
        match &self.output {
            Some(folder) => {
                command.stdout(Stdio::null()).stderr(self.log_file(folder, launch)?);
            }
            None => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
        }
        let child = children::spawn(&mut command)
            .with_context(|| format!("cannot start {}: build it first", self.program.display()))?;
        Ok(RunningProcess { child, _kubeconfig: kubeconfig })
    }
}

#[derive(Debug)]
pub struct RunningProcess {
    child: Child,
    _kubeconfig: NamedTempFile,
}

impl RunningProcess {
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

impl Running for RunningProcess {
    async fn kill(mut self) -> Result<Option<String>> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(format!("the process had ended: {status}")));
        }
        // This also waits until the kernel has cleaned up.
        self.child.kill().await.context("kill -9")?;
        Ok(None)
    }
}
