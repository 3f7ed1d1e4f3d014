//! Every fault at every write; `kill -9` at ten of them.

use std::time::Duration;

use machinist_control_plane::ControlPlane;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::crash::{Fault, Harness, Options, Sample};
use machinist_testbed::scenarios::{AwsScaling, Scaling};
use tokio::sync::OnceCell;

use crate::broken_secret::{self, BrokenSecret};
use crate::machine_sets::FiveMachineSets;
use crate::subjects;

/// The API server that tests share: worlds are apart by namespace and by name.
pub(crate) async fn shared() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_init(control_plane).await
}

#[expect(clippy::disallowed_methods, reason = "the log of a test quotes no cluster but its own")]
async fn control_plane() -> ControlPlane {
    // Each run is logged with RUST_LOG=machinist_testbed=info
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr);
    drop(lines.with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).try_init());
    let control_plane = ControlPlane::start().await.unwrap();
    control_plane.install_crds(&machinist::verbs::crds::yaml().unwrap()).await.unwrap();
    control_plane
}

const CATALOGUE: &str = "--instance-types=catalogue";
const EC2: &str = "--instance-types=ec2";

/// A machine that is busy with other things needs ten times as long for a run as a quiet one.
fn options() -> Options {
    Options { deadline: Duration::from_mins(4), ..Options::default() }
}

/// In the same process: death drops the whole runtime with the call pending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_of_the_annotator_survives_every_fault() {
    let control_plane = shared().await;
    let options = Options { sample: Sample::from_env().unwrap(), ..options() };
    let servers = vec![control_plane.kube_config()];
    let harness = Harness::new(subjects::in_process(CATALOGUE), FiveMachineSets, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("annotator, in process: {report}");
    report.check_with(24).unwrap();
}

/// In a process of its own: death is `kill -9`, at ten points.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_points_survive_kill_9() {
    let control_plane = shared().await;
    let options = Options {
        faults: vec![Fault::DieBefore, Fault::DieAfter],
        sample: Sample::spread(10).unwrap(),
        ..options()
    };
    let servers = vec![control_plane.kube_config()];
    let harness = Harness::new(subjects::process(CATALOGUE), FiveMachineSets, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("annotator, kill -9: {report}");
    assert_eq!(report.runs, 10);
    report.check_with(24).unwrap();
}

/// The controllers of machines in a process of their own: death is `kill -9`, at ten points.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_machine_is_lost_or_leaked_by_kill_9() {
    let control_plane = shared().await;
    let options = Options {
        faults: vec![Fault::DieBefore, Fault::DieAfter],
        sample: Sample::spread(10).unwrap(),
        settle: Duration::from_millis(600),
        cloud: Some(50.0),
        ..options()
    };
    let servers = vec![control_plane.kube_config()];
    let harness = Harness::new(subjects::machines(), Scaling::Unkind, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("machines, kill -9: {report}");
    assert_eq!(report.runs, 10);
    report.check_with(90).unwrap();
}

/// With EC2 behind it, and with credentials that break and are repaired on the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_survives_every_fault_while_credentials_come_and_go() {
    let aws = AwsBed::start().await.unwrap();
    // One of its own, because it changes settings of the whole cluster.
    let control_plane = control_plane().await;
    broken_secret::point_at(&control_plane, &aws.endpoint_url()).await.unwrap();
    let options = Options { sample: Sample::from_env().unwrap(), ..options() };
    let servers = vec![control_plane.kube_config()];
    let harness = Harness::new(subjects::in_process(EC2), BrokenSecret, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("annotator with EC2: {report}");
    report.check_with(40).unwrap();
}

/// On AWS, with hosts and load balancers, while image and subnet change: every death is `kill -9`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_instance_is_lost_leaked_or_made_twice_on_aws() {
    let control_plane = shared().await;
    let options = Options {
        sample: Sample::from_env().unwrap(),
        // Half of a run is waiting.
        parallel: 5,
        settle: Duration::from_secs(1),
        aws: true,
        ..options()
    };
    let servers = vec![control_plane.kube_config()];
    let harness = Harness::new(subjects::machines_on_aws(), AwsScaling, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("machines on AWS, kill -9: {report}");
    report.check_with(85).unwrap();
}
