//! The crash harness finds what is wrong with a bad controller and nothing with a good one.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ApiResource;
use machinist_testbed::World;
use machinist_testbed::crash::{
    Fault, Harness, Options, ProcessSubject, Report, Sample, Scenario, Strike,
    toy::{self, Habit},
};
use serde_json::Value;

use crate::faults::{api_server::admin, two_parents::TwoParents};

async fn try_habit(habit: Habit, knows_children: bool, options: Options) -> Report {
    let (subject, scenario) = (toy::subject(habit), TwoParents { knows_children });
    let harness = Harness::new(subject, scenario, vec![admin().await], options);
    harness.run().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_careful_controller_survives_every_fault_at_every_point() {
    let report = try_habit(Habit::Careful, true, Options::default()).await;
    report.check().unwrap();
    println!("{report}");
    let points: BTreeSet<String> = report.points.iter().map(ToString::to_string).collect();
    let expected = [
        "toy: create configmaps blue-child #1",
        "toy: create configmaps red-child #1",
        "toy: delete configmaps blue-child #1",
        "toy: patch configmaps blue #1",
        "toy: patch configmaps red #1",
        "toy: patch configmaps red #2",
        "toy: patch configmaps red-child #1",
    ];
    assert_eq!(points, expected.map(str::to_owned).into());
    assert_eq!((report.runs, report.doubles), (7 * 10, 7));
    assert!(report.to_string().starts_with("7 crash points × 10 faults, 0 differ\n"), "{report}");
    report.check_with(7).unwrap();
    assert!(report.check_with(8).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgetful_controller_is_caught_with_duplicates() {
    let options = Options {
        faults: vec![Fault::DieBefore, Fault::DieAfter, Fault::LoseAnswer, Fault::Error500],
        deadline: Duration::from_secs(20),
        // Runs that differ mostly wait.
        parallel: 8,
        doubles: false,
        ..Options::default()
    };
    let report = try_habit(Habit::Forgetful, true, options).await;
    println!("{report}");
    let caught = |write: &str, fault: Fault| {
        report.differences.iter().any(|found| {
            let Strike { point, fault: with } = &found.strikes[0];
            point.to_string() == format!("toy: {write} #1") && *with == fault
        })
    };
    // Whatever stops it between the child and the note about it makes a second child.
    assert!(caught("create configmaps red-*", Fault::DieAfter), "{report}");
    assert!(caught("create configmaps red-*", Fault::LoseAnswer), "{report}");
    assert!(caught("patch configmaps red", Fault::DieBefore), "{report}");
    assert!(caught("patch configmaps red", Fault::Error500), "{report}");
    // Before the child nothing is lost.
    assert!(!caught("create configmaps red-*", Fault::DieBefore), "{report}");
    assert!(report.unmet.is_empty(), "{report}");
    assert!(report.check().is_err());
    let diff = &report.differences[0].diff;
    assert!(diff.contains("--- undisturbed\n+++ disturbed\n"), "{diff}");
    assert!(diff.contains("+    \"kind\": \"ConfigMap\""), "an object too many: {diff}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hasty_controller_is_caught_only_by_writes_that_land_late() {
    let options = Options {
        faults: vec![Fault::DieAfter, Fault::LoseAnswer, Fault::LandLate, Fault::DieAndLandLate],
        deadline: Duration::from_secs(20),
        parallel: 8,
        doubles: false,
        ..Options::default()
    };
    let report = try_habit(Habit::Hasty, true, options).await;
    println!("{report}");
    assert!(report.unmet.is_empty(), "{report}");
    let caught: BTreeSet<String> =
        report.differences.iter().map(|found| found.strikes[0].to_string()).collect();
    let create = |fault: Fault| format!("toy: create configmaps red-* #1: {fault}");
    let expected = [Fault::LandLate, Fault::DieAndLandLate].map(create);
    assert_eq!(caught, expected.into(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_touchy_controller_is_caught_by_errors_but_not_by_death() {
    let options = Options {
        deadline: Duration::from_secs(20),
        sample: Sample::EveryNth { n: 5, offset: 0 },
        parallel: 10,
        doubles: false,
        ..Options::default()
    };
    let report = try_habit(Habit::Touchy, true, options).await;
    println!("{report}");
    assert!(report.runs * 5 >= report.points.len() * 7);
    assert!(report.unmet.is_empty(), "{report}");
    assert!(!report.differences.is_empty());
    let alive = report.differences.iter().all(|found| !found.strikes[0].fault.is_deadly());
    assert!(alive, "{report}");
    let reasons = report.differences.iter().all(|found| {
        found.problems.iter().any(|problem| problem.contains("the subject had given up"))
    });
    assert!(reasons, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_process_is_killed_and_recovers() {
    let subject = ProcessSubject::new(env!("CARGO_BIN_EXE_toy-controller")).args(["{namespace}"]);
    let options = Options {
        faults: vec![Fault::DieBefore, Fault::DieAfter],
        sample: Sample::Spread { count: 4, offset: 0 },
        doubles: false,
        ..Options::default()
    };
    let harness =
        Harness::new(subject, TwoParents { knows_children: true }, vec![admin().await], options);
    let report = harness.run().await.unwrap();
    report.check().unwrap();
    assert_eq!(report.runs, 4);
    println!("{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_point_that_is_not_met_again_is_a_failure() {
    let options = Options {
        faults: vec![Fault::Error500],
        deadline: Duration::from_secs(20),
        parallel: 8,
        doubles: false,
        ..Options::default()
    };
    // Random names make the writes to children different in every run.
    let report = try_habit(Habit::Forgetful, false, options).await;
    assert_eq!(report.unmet.len(), 2, "{report}");
    assert!(report.to_string().contains("not met again: toy: delete configmaps blue-"), "{report}");
    assert!(report.check().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_writes_nothing_is_an_error_and_not_a_pass() {
    struct Nothing;
    impl Scenario for Nothing {
        fn name(&self) -> &'static str {
            "nothing"
        }
        async fn run(&self, _: &World) -> Result<()> {
            Ok(())
        }
        async fn end_state(&self, world: &World) -> Result<Value> {
            world.state_of(&[ApiResource::erase::<ConfigMap>(&())]).await
        }
    }
    let harness = Harness::new(
        toy::subject(Habit::Careful),
        Nothing,
        vec![admin().await],
        Options::default(),
    );
    let error = harness.run().await.unwrap_err().to_string();
    assert!(error.contains("nothing to disturb"), "{error}");
}
