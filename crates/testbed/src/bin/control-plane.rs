//! `control-plane` runs one until Ctrl-C or SIGTERM; `control-plane fetch` only gets the programs named after it
//! (default: all), so that a slow first build happens at a terminal and not inside a test.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use machinist_control_plane::ControlPlane;
use machinist_control_plane::binaries::{Binary, Sources};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [] => run().await,
        ["fetch", names @ ..] => fetch(names).await,
        _ => Err(anyhow!("usage: control-plane | control-plane fetch [PROGRAM...]")),
    };
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // There is no other place to report that stderr is closed.
    writeln!(io::stderr(), "{error:#}").ok();
    ExitCode::FAILURE
}

async fn run() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let control_plane = ControlPlane::start().await?;
    writeln!(io::stdout(), "export KUBECONFIG={}", control_plane.kubeconfig_path().display())?;
    io::stdout().flush()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn fetch(names: &[&str]) -> Result<()> {
    // A second call in a process would be refused; this is the first.
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let sources = Sources::from_env()?;
    for name in names {
        let known = Binary::ALL.iter().any(|it| it.file_name() == *name);
        ensure!(known, "no program is called {name}");
    }
    for binary in Binary::ALL {
        if names.is_empty() || names.contains(&binary.file_name()) {
            writeln!(io::stdout(), "{}", sources.find(binary, None).await?.display())?;
        }
    }
    Ok(())
}
