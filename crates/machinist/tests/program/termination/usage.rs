//! Command lines that are no good: exit 2, and nothing was asked.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_machinist"))
        .arg("termination-handler")
        .args(arguments)
        .env_remove("NODE_NAME")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("KUBECONFIG", "no-such-file")
        .output()
        .unwrap()
}

#[test]
fn bad_command_lines_exit_with_2_and_name_the_flag() {
    for (arguments, complaint) in [
        (&[][..], "--node-name"),
        (&["--node-name", ""], "--node-name"),
        (&["--node-name", "n", "--imds-endpoint", "https://example.org"], "--imds-endpoint"),
        (&["--node-name", "n", "--imds-endpoint", "http://h/path"], "--imds-endpoint"),
        (&["--node-name", "n", "--poll-interval", "10m"], "--poll-interval"),
        (&["--node-name", "n", "--poll-interval", "0s"], "--poll-interval"),
        (&["--node-name", "n"], "no-such-file"),
    ] {
        let output = run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(complaint), "{arguments:?}: {errors}");
    }
}
