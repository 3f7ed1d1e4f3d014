//! Command lines that are no good: exit 2, and nothing was asked.

use std::process::Output;

use machinist_testbed::process;
use tokio::process::Command;

async fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    command
        .arg("termination-handler")
        .args(arguments)
        .env_remove("NODE_NAME")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("KUBECONFIG", "no-such-file");
    process::output(&mut command, "").await.unwrap()
}

#[tokio::test]
async fn bad_command_lines_exit_with_2_and_name_the_flag() {
    for (arguments, complaint) in [
        (&[][..], "--node-name"),
        (&["--node-name", ""], "--node-name"),
        (&["--node-name", "n", "--imds-endpoint", "https://example.org"], "--imds-endpoint"),
        (&["--node-name", "n", "--imds-endpoint", "http://h/path"], "--imds-endpoint"),
        (&["--node-name", "n", "--poll-interval", "10m"], "--poll-interval"),
        (&["--node-name", "n", "--poll-interval", "0s"], "--poll-interval"),
        (&["--node-name", "n"], "no-such-file"),
    ] {
        let output = run(arguments).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(complaint), "{arguments:?}: {errors}");
    }
}
