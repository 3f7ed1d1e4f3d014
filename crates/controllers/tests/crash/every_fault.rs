//! Every fault at every write: of MachineSets on our definitions in a kind cloud, and on OpenShift's own in one that is
//! not; of a rolling update, and of one in place.

use std::time::Duration;

use anyhow::Result;
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use machinist_testbed::crash::{Harness, Options, Sample, Scenario};
use machinist_testbed::faults::ApiRequest;
use machinist_testbed::openshift::{FeatureSet, openshift_crds};
use machinist_testbed::scenarios::{Freezing, InPlace, Preserving, Remediating, Rolling, Scaling};
use serde_json::Value;

use crate::subject;

/// Of one run. A machine that is busy with other things needs ten times as long as a quiet one.
const PATIENCE: Duration = Duration::from_mins(4);

/// The clock of the cloud, against real time.
const CLOUD_SPEED: f64 = 50.0;

/// Fewer would mean that the scenario shows less than it did.
const LEAST_POINTS: usize = 90;
const LEAST_POINTS_OF_ROLLING: usize = 60;
const LEAST_POINTS_OF_PRESERVING: usize = 7;
const LEAST_POINTS_OF_IN_PLACE: usize = 20;
const LEAST_POINTS_OF_FREEZING: usize = 3;
const LEAST_POINTS_OF_REMEDIATING: usize = 4;

const OF_SETS: &[&str] = &["machine", "machineset", "nodelink"];
const OF_DEPLOYMENTS: &[&str] = &["machine", "machineset", "machinedeployment", "nodelink"];

async fn every_write_survives_every_fault(
    (definitions, yaml): (&str, &str),
    controllers: &'static [&'static str],
    (scenario, sample): (impl Scenario, Sample),
    least_points: usize,
) {
    let control_plane = ControlPlane::start().await.unwrap();
    control_plane.install_crds(yaml).await.unwrap();
    let options = Options {
        sample,
        // Most of a run is waiting.
        parallel: 8,
        deadline: PATIENCE,
        settle: Duration::from_millis(600),
        cloud: Some(CLOUD_SPEED),
        ..Options::default()
    };
    let servers = vec![control_plane.kube_config()];
    let subject = subject::controllers(controllers, None);
    let harness = Harness::new(subject, scenario, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("machines on {definitions}: {report}");
    report.check_with(least_points).unwrap();
}

fn sample() -> Sample {
    Sample::from_env().unwrap()
}

fn ours() -> String {
    yaml(machinist_api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()))
}

fn yaml(definitions: impl Iterator<Item = serde_json::Value>) -> String {
    definitions.map(|crd| crd.to_string()).collect::<Vec<_>>().join("\n---\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_machine_is_lost_or_leaked_on_our_definitions() {
    let on = ("our definitions", &*ours());
    every_write_survives_every_fault(on, OF_SETS, (Scaling::Kind, sample()), LEAST_POINTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_machine_is_lost_or_leaked_on_openshifts_definitions_in_an_unkind_cloud() {
    let crds = openshift_crds(FeatureSet::Default).await.unwrap();
    let yaml = yaml(crds.into_iter());
    let on = ("OpenShift's definitions", &*yaml);
    every_write_survives_every_fault(on, OF_SETS, (Scaling::Unkind, sample()), LEAST_POINTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_update_keeps_within_its_limits_and_completes() {
    let on = ("our definitions, rolling", &*ours());
    // Eight machines live in each run.
    let scenario = (Rolling, sample().sparser(3));
    every_write_survives_every_fault(on, OF_DEPLOYMENTS, scenario, LEAST_POINTS_OF_ROLLING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_machine_is_kept_until_the_user_is_done() {
    let on = ("our definitions, preserving", &*ours());
    every_write_survives_every_fault(
        on,
        OF_DEPLOYMENTS,
        (Preserving, sample().sparser(2)),
        LEAST_POINTS_OF_PRESERVING,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_freeze_in_the_middle_of_scaling_stops_it_and_its_end_continues_it() {
    let on = ("our definitions, freezing", &*ours());
    let scenario = (Freezing, sample().sparser(2));
    every_write_survives_every_fault(on, OF_SETS, scenario, LEAST_POINTS_OF_FREEZING).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_in_place_keeps_every_machine_and_completes() {
    let on = ("our definitions, in place", &*ours());
    let scenario = (InPlace, sample().sparser(2));
    every_write_survives_every_fault(on, OF_DEPLOYMENTS, scenario, LEAST_POINTS_OF_IN_PLACE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_bad_nodes_of_five_are_replaced_and_no_other() {
    let on = ("our definitions, remediating", &*ours());
    let controllers = &["machine", "machineset", "nodelink", "healthcheck"];
    let scenario = (Remediating, sample().sparser(2));
    every_write_survives_every_fault(on, controllers, scenario, LEAST_POINTS_OF_REMEDIATING).await;
}

/// How long a lease lasts: after a death its successor waits for that.
const LEASE: Duration = Duration::from_secs(12);

/// The same story among processes that need their leases; the first write of each, and one renewal, are points, too.
struct Elected;

impl Scenario for Elected {
    fn name(&self) -> &'static str {
        "elected"
    }

    async fn run(&self, world: &World) -> Result<()> {
        Scaling::Kind.run(world).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        Scaling::Kind.end_state(world).await
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        if request.resource == "leases" { 1 } else { Scaling::Kind.at_least(request) }
    }

    fn label(&self, request: &ApiRequest) -> String {
        match &*request.resource {
            "leases" => request.name.clone().unwrap_or_default(),
            _ => Scaling::Kind.label(request),
        }
    }
}

/// A few points only: after each death a lease has to run out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_machine_is_lost_or_leaked_when_leases_change_hands() {
    let control_plane = ControlPlane::start().await.unwrap();
    control_plane.install_crds(&ours()).await.unwrap();
    let options = Options {
        sample: Sample::spread(14).unwrap(),
        parallel: 7,
        deadline: PATIENCE,
        // Renewals are writes: between two of them it is quiet.
        settle: Duration::from_millis(300),
        leases: true,
        cloud: Some(CLOUD_SPEED),
        ..Options::default()
    };
    let servers = vec![control_plane.kube_config()];
    let harness =
        Harness::new(subject::controllers(OF_SETS, Some(LEASE)), Elected, servers, options);
    let report = harness.run().await.unwrap();
    eprintln!("machines with leases: {report}");
    report.check_with(LEAST_POINTS).unwrap();
}
