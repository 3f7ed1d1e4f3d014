//! A cluster whose nodes are members of Auto Scaling groups, and the command line of their operator.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::children;
use machinist_testbed::aws::estate::GroupFacts;
use machinist_testbed::aws::{AwsBed, Call, Estate, Front, Kubelets};
use machinist_testbed::poll;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::ec2::support::cloud::cloud;
use crate::ec2::support::world::Ec2World;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
pub(super) const REGION: &str = "eu-north-1";
/// The tag that a plan is stored in.
pub(super) const MARK: &str = "machinist.dev/recycle";
/// On a busy machine a group takes its time, and a recycle that continues another one waits for late calls.
const LONG: Duration = Duration::from_secs(240);

pub(super) struct Yard {
    pub(super) world: Ec2World,
    pub(super) cloud: AwsBed,
    pub(super) estate: Arc<Estate>,
    home: TempDir,
    _kubelets: Kubelets,
}

/// What a command came to.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    pub(super) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("{self:?}"))
    }
}

impl Yard {
    pub(super) async fn new(name: &str) -> Result<Self> {
        let world = Ec2World::plain(name).await?;
        let cloud = cloud().await?;
        let estate = Arc::new(Estate::found(cloud.moto(), REGION, &world.namespace).await?);
        let boot = Duration::from_millis(100);
        let kubelets = Kubelets::start(&estate, &world.config, boot)?;
        Ok(Self { world, cloud, estate, home: TempDir::new()?, _kubelets: kubelets })
    }

    /// A file of this test.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(super) fn front(&self) -> &Front {
        self.cloud.front()
    }

    /// A group whose members have all registered. Its name is the yard's own.
    pub(super) async fn group(&self, sizes: [u32; 3]) -> Result<(String, Vec<String>)> {
        self.group_named("workers", sizes).await
    }

    /// The same, where there are several.
    pub(super) async fn group_named(
        &self,
        name: &str,
        sizes: [u32; 3],
    ) -> Result<(String, Vec<String>)> {
        let name = format!("{}-{name}", self.world.namespace);
        let members = self.estate.create_group(&name, sizes, &[]).await?;
        for member in &members {
            self.world.until_node(member).await?;
        }
        Ok((name, members))
    }

    pub(super) async fn truth(&self, group: &str) -> Result<GroupFacts> {
        self.estate.group(group).await?.context("the group is gone")
    }

    /// The calls that changed something, or tried to.
    pub(super) fn changes(&self) -> Vec<Call> {
        let mut calls = self.front().calls();
        calls.retain(|call| !call.action.starts_with("Describe"));
        calls
    }

    pub(super) fn terminations(&self) -> Vec<String> {
        let calls = self.front().calls_of("TerminateInstanceInAutoScalingGroup");
        calls.iter().map(|call| call.parameters["InstanceId"].clone()).collect()
    }

    /// `machinist recycle …`, with nothing in the environment but cluster and cloud.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("recycle")
            .args(arguments)
            .env_clear()
            .env("KUBECONFIG", self.world.kubeconfig())
            .env("HOME", self.home.path())
            .env("USER", "operator")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", self.cloud.endpoint_url())
            .env("AWS_ACCESS_KEY_ID", "AKIAHAND")
            .env("AWS_SECRET_ACCESS_KEY", "x")
            .env("AWS_REGION", REGION)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(super) async fn recycle(&self, arguments: &[&str]) -> Result<Ended> {
        ended(children::spawn(&mut self.command(arguments))?).await
    }

    /// Recycles a group without being asked, looking often.
    pub(super) fn run(&self, group: &str, more: &[&str]) -> Result<Child> {
        let mut arguments = vec!["run", group, "--yes", "--poll-interval=200ms", "-o=json"];
        arguments.extend(more);
        Ok(children::spawn(&mut self.command(&arguments))?)
    }
}

/// Waits for the end of a process.
pub(super) async fn ended(child: Child) -> Result<Ended> {
    let output = tokio::time::timeout(LONG, child.wait_with_output()).await;
    let output = output.context("it does not end")??;
    Ok(Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// As Ctrl-C does.
pub(super) fn interrupt(child: &Child) -> Result<()> {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("a process id")?;
    Ok(rustix::process::kill_process(pid, Signal::INT)?)
}

/// Waits until something is so.
pub(super) async fn until(what: &str, check: impl AsyncFn() -> Result<bool>) -> Result<()> {
    poll::eventually(LONG, what, || async {
        ensure!(check().await?, "not yet");
        Ok(())
    })
    .await
}
