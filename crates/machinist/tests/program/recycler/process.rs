//! The binary as a process that runs the recycler, with an environment that holds only what the test sets.

use std::path::Path;

use anyhow::Result;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::process::{Launch, Process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/recycler");

/// Starts a recycler that asks `cloud` in `region`.
pub(crate) fn start(
    kubeconfig: &Path,
    cloud: &AwsBed,
    region: &str,
    flags: &[&str],
) -> Result<Process> {
    let flags = [&["--metrics-bind-address=0"], flags].concat();
    start_with(kubeconfig, cloud, region, &flags, &[])
}

/// The same with variables in its environment, and with metrics at the address of a flag.
pub(crate) fn start_with(
    kubeconfig: &Path,
    cloud: &AwsBed,
    region: &str,
    flags: &[&str],
    variables: &[(&str, &str)],
) -> Result<Process> {
    let mut launch = Launch::new(PROGRAM, LOGS, &std::process::id().to_string())?;
    launch
        .command
        .args(["run", "--controllers=recycler", "--health-addr=0"])
        .args(flags)
        .env("KUBECONFIG", kubeconfig)
        .env("AWS_ENDPOINT_URL", cloud.endpoint_url())
        .env("AWS_REGION", region)
        .env("AWS_ACCESS_KEY_ID", "AKIARECYCLER")
        .env("AWS_SECRET_ACCESS_KEY", "x")
        .envs(variables.iter().copied());
    launch.start()
}
