//! The processes that the crash suite runs: the annotator (also in this process) and the machine controllers, with
//! timings scaled to a twentieth.

use std::sync::Arc;

use machinist::cli::RunArguments;
use machinist_provider::provider::Providers;
use machinist_provider_aws::AwsProvider;
use machinist_testbed::crash::{Launch, ProcessSubject, RuntimeSubject};
use tokio_util::sync::CancellationToken;

const FLAGS: [&str; 6] = [
    "--controllers=annotator",
    "--metrics-bind-address=0",
    "--health-addr=0",
    // Longer than any run: a retry must repair what a fault breaks, not the resync.
    "--sync-period=10m",
    // Not less: on a busy machine a request that takes longer than its scaled limit is one more fault.
    "--time-scale=0.05",
    "--workers=annotator=4",
];

/// `source` is where capacities come from: `--instance-types=…`.
pub(crate) fn in_process(source: &'static str) -> RuntimeSubject {
    RuntimeSubject::new(move |launch: Launch| async move {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), &launch.kubeconfig)?;
        let arguments = arguments(&launch, &file.path().to_string_lossy(), source)?;
        let providers = Providers::new(vec![Arc::new(AwsProvider::default())]);
        machinist::verbs::run::run(&arguments, &providers, CancellationToken::new()).await
    })
}

fn arguments(launch: &Launch, kubeconfig: &str, source: &str) -> anyhow::Result<RunArguments> {
    let place = ["--namespace", &launch.namespace, "--control-kubeconfig", kubeconfig];
    let target = ["--target-kubeconfig", "none", source];
    Ok(RunArguments::parse(&[FLAGS.as_slice(), &place, &target].concat())?)
}

pub(crate) fn process(source: &str) -> ProcessSubject {
    ProcessSubject::new(env!("CARGO_BIN_EXE_machinist")).args(["run"]).args(FLAGS).args([
        "--namespace",
        "{namespace}",
        source,
    ])
}

/// The controllers of machines, on the simulated cloud.
pub(crate) fn machines() -> ProcessSubject {
    ProcessSubject::new(env!("CARGO_BIN_EXE_machinist"))
        .args([
            "run",
            "--controllers=machine,machineset,nodelink",
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-addr=0",
            "--sync-period=10m",
            "--time-scale=0.05",
            "--namespace",
            "{namespace}",
        ])
        .env(machinist_provider_sim::ENDPOINT_VARIABLE, "{cloud}")
}

/// The controllers of machines, on AWS. The cluster is called like the namespace.
pub(crate) fn machines_on_aws() -> ProcessSubject {
    ProcessSubject::new(env!("CARGO_BIN_EXE_machinist"))
        .args([
            "run",
            "--controllers=machine,machineset,nodelink",
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-addr=0",
            "--sync-period=10m",
            "--time-scale=0.05",
            "--namespace",
            "{namespace}",
            "--cluster-id",
            "{namespace}",
        ])
        .env("AWS_ENDPOINT_URL", "{cloud}")
        .env("AWS_ACCESS_KEY_ID", "AKIACRASH")
        .env("AWS_SECRET_ACCESS_KEY", "crash")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output(concat!(env!("CARGO_TARGET_TMPDIR"), "/crash-aws"))
}
