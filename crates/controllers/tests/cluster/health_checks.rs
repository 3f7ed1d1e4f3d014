//! Health checks on a real API server. Machines and Nodes are written by the test, so that every state is exact and
//! nothing else deletes them.

mod external;
mod memory;

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp, Unit};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::clock::{Clock as _, SystemClock};
use machinist_runtime::timings::Timings;
use machinist_testbed::faults::{Effect, EventFilter, Gate, Match, Rule, Verb};
use machinist_testbed::world::PATIENCE;
use machinist_testbed::world::reading::{condition, message};
use serde_json::{Value, json};

use crate::controllers::Setup;
use crate::definitions::Served;
use crate::fixture::Fixture;

const ROLE: &str = "role";
pub(crate) const SET: &str = "workers";
pub(crate) const CHECK: &str = "check";
const RECONCILES: &str = "machinist_reconcile_total";
/// Beyond any timeout.
const LONG: SignedDuration = SignedDuration::from_hours(1);

on_both_definitions! {
    crate::health_checks::start =>
    sixty_percent_of_seven_are_four_and_the_fifth_stops_all,
    a_condition_is_remediated_when_its_timeout_ends,
    a_machine_without_a_node_is_deleted_after_the_startup_timeout,
    a_machine_whose_node_was_deleted_is_deleted,
    a_paused_health_check_does_nothing,
    an_incomplete_remediation_template_is_refused,
    an_unparsable_limit_is_a_condition_and_an_event,
    a_machine_of_two_health_checks_is_remediated_once,
    a_node_that_recovered_unseen_is_spared,
    a_deletion_whose_answer_is_lost_is_reported,
}

pub(crate) async fn start(test: &str, served: Served) -> Result<Fixture> {
    start_with(test, served, &["healthcheck"]).await
}

pub(crate) async fn start_with(
    test: &str,
    served: Served,
    controllers: &'static [&'static str],
) -> Result<Fixture> {
    // Twenty times faster than life, apart from what a busy machine would turn into a failure.
    let timings =
        Timings { request: PATIENCE, list_page: PATIENCE, ..Timings::default().scaled(0.05) };
    let machines = MachineTimings::default().scaled(0.05);
    Fixture::new(test, served, Setup::new(controllers, &timings, machines)).await
}

fn now() -> Timestamp {
    // The time of a kubelet has whole seconds.
    SystemClock.now().round(Unit::Second).unwrap()
}

impl Fixture {
    fn node_name(&self, machine: &str) -> String {
        format!("{}-{machine}", self.namespace)
    }

    /// Machines with ready Nodes, of a MachineSet whose controller does not run.
    pub(crate) async fn create_fleet(&self, count: usize) -> Result<()> {
        let set = self.create_set(json!({})).await?;
        for number in 0..count {
            self.create_one(&format!("m-{number}"), &set).await?;
        }
        Ok(())
    }

    async fn create_set(&self, metadata: Value) -> Result<DynamicObject> {
        let labels = json!({ROLE: SET});
        let template = json!({"metadata": {"labels": labels}, "spec": {}});
        let spec =
            json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
        self.create_machine_set(SET, metadata, spec).await
    }

    /// A MachineSet of the MachineDeployment `web`, whose controller does not run either.
    async fn create_deployed_set(&self) -> Result<DynamicObject> {
        let template = json!({"metadata": {"labels": {ROLE: SET}}, "spec": {}});
        let spec =
            json!({"replicas": 3, "selector": {"matchLabels": {ROLE: SET}}, "template": template});
        let deployment = self.create_machine_deployment("web", json!({}), spec).await?;
        let owner = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
            "name": "web", "uid": deployment.uid(), "controller": true,
        });
        self.create_set(json!({ "ownerReferences": [owner] })).await
    }

    async fn create_one(&self, name: &str, set: &DynamicObject) -> Result<()> {
        self.create_without_node(name, set).await?;
        let node = self.node_name(name);
        let object: Node = serde_json::from_value(json!({"metadata": {"name": node}}))?;
        self.nodes().create(&PostParams::default(), &object).await?;
        self.report(name, "Ready", "True", LONG).await?;
        let status = json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": node}});
        self.patch_machine_status(name, status).await
    }

    async fn create_without_node(&self, name: &str, set: &DynamicObject) -> Result<()> {
        let owner = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": SET,
            "uid": set.uid(), "controller": true,
        });
        let metadata = json!({"labels": {ROLE: SET}, "ownerReferences": [owner]});
        self.create_machine(name, metadata, json!({})).await.map(drop)
    }

    /// What the kubelet of a machine reports, since so long.
    pub(crate) async fn report(
        &self,
        machine: &str,
        kind: &str,
        status: &str,
        age: SignedDuration,
    ) -> Result<()> {
        let since = (now() - age).to_string();
        let condition = json!({"type": kind, "status": status, "lastTransitionTime": since});
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        let node = self.node_name(machine);
        self.nodes().patch_status(&node, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// `extra` is merged into a spec with a timeout of ten minutes.
    pub(crate) async fn create_check(
        &self,
        name: &str,
        metadata: Value,
        extra: Value,
    ) -> Result<()> {
        let bad = |status: &str| json!({"type": "Ready", "status": status, "timeout": "10m"});
        let mut spec = json!({
            "selector": {"matchLabels": {ROLE: SET}},
            "unhealthyConditions": [bad("Unknown"), bad("False")],
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        self.create_health_check(name, metadata, spec).await.map(drop)
    }

    pub(crate) async fn until_left(&self, count: usize) -> Result<Vec<String>> {
        self.eventually(&format!("{count} machines"), || async {
            let alive = self.alive_machines().await?;
            ensure!(alive.len() == count, "{alive:?}");
            Ok(alive)
        })
        .await
    }

    async fn until_allowed(&self, wanted: &str) -> Result<DynamicObject> {
        let is = |check: &DynamicObject| condition(check, "RemediationAllowed") == wanted;
        self.until_health_check(CHECK, wanted, is).await
    }
}

async fn sixty_percent_of_seven_are_four_and_the_fifth_stops_all(world: Fixture) -> Result<()> {
    world.create_fleet(7).await?;
    for number in 0..5 {
        world.report(&format!("m-{number}"), "Ready", "Unknown", LONG).await?;
    }
    world.create_check(CHECK, json!({}), json!({"maxUnhealthy": "60%"})).await?;
    let process = world.run()?;
    let check = world.until_allowed("False/TooManyUnhealthy").await?;
    let status = &check.data["status"];
    let counts =
        [&status["expectedMachines"], &status["currentHealthy"], &status["remediationsAllowed"]];
    assert_eq!(counts, [7, 2, 0], "{status}");
    assert!(
        message(&check, "RemediationAllowed")
            .contains("(total: 7, unhealthy: 5, maxUnhealthy: 60%)")
    );
    world.until_event(CHECK, "RemediationRestricted").await?;
    let lines = |value| process.count("mapi_machinehealthcheck_short_circuit", &[CHECK]) == value;
    assert!(lines(1), "short circuit");
    let before = process.count(RECONCILES, &["healthcheck"]);

    // Heartbeats are no change.
    for _ in 0..5 {
        world.report("m-6", "Ready", "True", LONG).await?;
    }
    world.report("m-4", "Ready", "True", SignedDuration::ZERO).await?;
    assert_eq!(world.until_left(3).await?, ["m-4", "m-5", "m-6"]);
    world.until_allowed("True").await?;
    let reconciles = process.count(RECONCILES, &["healthcheck"]) - before;
    assert!(reconciles < 30, "{reconciles} reconciles");
    let success = "mapi_machinehealthcheck_remediation_success_total";
    assert_eq!(process.count(success, &[CHECK, &world.namespace]), 4);
    let deleted = |check: &DynamicObject| check.data["status"]["expectedMachines"] == 3;
    world.until_health_check(CHECK, "three are left", deleted).await?;
    assert!(lines(0), "short circuit");
    process.kill().await
}

async fn a_condition_is_remediated_when_its_timeout_ends(world: Fixture) -> Result<()> {
    world.create_fleet(2).await?;
    let process = world.run()?;
    let soon = json!({"type": "Sick", "status": "True", "timeout": "3s"});
    let late = json!({"type": "Slow", "status": "True", "timeout": "10m"});
    world.create_check(CHECK, json!({}), json!({"unhealthyConditions": [soon, late]})).await?;
    let healthy = |check: &DynamicObject| condition(check, "MachinesHealthy") == "True";
    world.until_health_check(CHECK, "all are healthy", healthy).await?;
    let since = now();
    world.report("m-0", "Sick", "True", SignedDuration::ZERO).await?;
    world.report("m-1", "Slow", "True", SignedDuration::ZERO).await?;
    assert_eq!(world.until_left(1).await?, ["m-1"]);
    let took = SystemClock.now().duration_since(since);
    // A time that is rounded is half a second off.
    assert!(took >= SignedDuration::from_millis(2400), "{took}");
    let note = world.until_event("m-0", "MachineDeleted").await?;
    assert!(note.contains("Node condition Sick=True for 3s"), "{note}");
    assert_eq!(world.until_event(CHECK, "MachineDeleted").await?, note);
    // Not of the other one: a busy machine may see it only when its timeout is over.
    world.until_event("m-1", "DetectedUnhealthy").await?;
    process.kill().await
}

async fn a_machine_without_a_node_is_deleted_after_the_startup_timeout(
    world: Fixture,
) -> Result<()> {
    let set = world.create_set(json!({})).await?;
    let process = world.run()?;
    world.create_check(CHECK, json!({}), json!({"nodeStartupTimeout": "2s"})).await?;
    world.create_without_node("m-0", &set).await?;
    world.until_gone("m-0").await?;
    let note = world.until_event("m-0", "MachineDeleted").await?;
    assert!(note.contains("no Node within nodeStartupTimeout 2s"), "{note}");

    // Without the timeout it is never unhealthy, and counts.
    let patch = Patch::Merge(json!({"spec": {"nodeStartupTimeout": "0"}}));
    world.health_checks().patch(CHECK, &PatchParams::default(), &patch).await?;
    world.create_without_node("m-1", &set).await?;
    let counted = |check: &DynamicObject| {
        let status = &check.data["status"];
        status["expectedMachines"] == 1 && status["currentHealthy"] == 0
    };
    world.until_health_check(CHECK, "it counts", counted).await?;
    assert_eq!(world.alive_machines().await?, ["m-1"]);
    process.kill().await
}

async fn a_machine_whose_node_was_deleted_is_deleted(world: Fixture) -> Result<()> {
    world.create_fleet(2).await?;
    let process = world.run()?;
    world.create_check(CHECK, json!({}), json!({})).await?;
    let counted = |check: &DynamicObject| check.data["status"]["currentHealthy"] == 2;
    world.until_health_check(CHECK, "both are healthy", counted).await?;
    let gone = world.node_name("m-1");
    world.nodes().delete(&gone, &DeleteParams::default()).await?;
    assert_eq!(world.until_left(1).await?, ["m-0"]);
    let note = world.until_event("m-1", "MachineDeleted").await?;
    assert!(note.contains(&format!("its Node {gone} does not exist")), "{note}");
    process.kill().await
}

async fn a_paused_health_check_does_nothing(world: Fixture) -> Result<()> {
    world.create_fleet(2).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    let annotations = json!({"annotations": {"cluster.x-k8s.io/paused": ""}});
    world.create_check(CHECK, annotations, json!({})).await?;
    let process = world.run()?;
    let paused = |check: &DynamicObject| condition(check, "MachinesHealthy") == "Unknown/Paused";
    world.until_health_check(CHECK, "it is paused", paused).await?;
    assert_eq!(world.alive_machines().await?.len(), 2);
    let resumed = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    let patch = Patch::Merge(resumed);
    world.health_checks().patch(CHECK, &PatchParams::default(), &patch).await?;
    assert_eq!(world.until_left(1).await?, ["m-1"]);
    process.kill().await
}

async fn an_incomplete_remediation_template_is_refused(world: Fixture) -> Result<()> {
    world.create_fleet(1).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    let template = json!({"remediationTemplate": {"kind": "FooTemplate", "name": "foo"}});
    world.create_check(CHECK, json!({}), template).await?;
    let process = world.run()?;
    let check = world.until_allowed("False/InvalidConfiguration").await?;
    let text = message(&check, "RemediationAllowed");
    assert!(text.contains("spec.remediationTemplate must have an apiVersion"), "{text}");
    world.until_event(CHECK, "InvalidConfiguration").await?;
    assert_eq!(world.alive_machines().await?, ["m-0"]);
    process.kill().await
}

async fn an_unparsable_limit_is_a_condition_and_an_event(world: Fixture) -> Result<()> {
    world.create_fleet(1).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    // The schema accepts it and no number is as large.
    let huge = "9".repeat(40);
    world.create_check(CHECK, json!({}), json!({"maxUnhealthy": huge})).await?;
    let process = world.run()?;
    world.until_allowed("False/InvalidConfiguration").await?;
    let note = world.until_event(CHECK, "InvalidConfiguration").await?;
    assert!(note.contains(&huge), "{note}");
    assert_eq!(world.alive_machines().await?, ["m-0"]);
    process.kill().await
}

async fn a_machine_of_two_health_checks_is_remediated_once(world: Fixture) -> Result<()> {
    world.create_fleet(3).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    for name in [CHECK, "other"] {
        world.create_check(name, json!({}), json!({})).await?;
    }
    let process = world.run()?;
    assert_eq!(world.until_left(2).await?, ["m-1", "m-2"]);
    let note = world.until_event("other", "HealthChecksOverlap").await?;
    assert!(note.contains(CHECK), "{note}");
    for name in [CHECK, "other"] {
        let settled = |check: &DynamicObject| check.data["status"]["currentHealthy"] == 2;
        world.until_health_check(name, "two are left", settled).await?;
    }
    let success = "mapi_machinehealthcheck_remediation_success_total";
    assert_eq!(process.count(success, &[&world.namespace]), 1);
    let deletions = Match::any().verbs([Verb::Delete]).resource("machines");
    assert_eq!(world.proxy.log().matching(&deletions).len(), 1);
    process.kill().await
}

/// The watch of Nodes does not show that it has recovered.
async fn a_node_that_recovered_unseen_is_spared(world: Fixture) -> Result<()> {
    world.create_fleet(2).await?;
    let recovers = |event: &Value| {
        let conditions = event["object"]["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Sick" && one["status"] == "False")
    };
    let watches = Match::any().verbs([Verb::Watch]).resource("nodes");
    let hidden = Effect::HideEvents(EventFilter::all().that(recovers));
    world.proxy.add_rule(Rule::new(watches, hidden));
    let (gate, node) = (Gate::new(), world.node_name("m-0"));
    let reads = Match::any().verbs([Verb::Get]).resource("nodes").name(node);
    world.proxy.add_rule(Rule::new(reads, Effect::Hold(gate.clone())));
    let process = world.run()?;
    let soon = json!({"type": "Sick", "status": "True", "timeout": "1s"});
    world.create_check(CHECK, json!({}), json!({"unhealthyConditions": [soon]})).await?;
    world.report("m-0", "Sick", "True", LONG).await?;
    tokio::time::timeout(PATIENCE, gate.reached()).await?;
    world.report("m-0", "Sick", "False", SignedDuration::ZERO).await?;
    let reports = Match::any().verbs([Verb::Patch]).resource("machinehealthchecks");
    let before = world.proxy.log().matching(&reports).len();
    gate.open();
    world
        .eventually("the reports of what was decided and of what was read", || async {
            let reports = world.proxy.log().matching(&reports).len() - before;
            ensure!(reports >= 2, "{reports}");
            Ok(())
        })
        .await?;
    let healthy = |check: &DynamicObject| condition(check, "MachinesHealthy") == "True";
    world.until_health_check(CHECK, "all are healthy", healthy).await?;
    let deletions = Match::any().verbs([Verb::Delete]).resource("machines");
    assert_eq!(world.proxy.log().matching(&deletions).len(), 0);
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_of_the_deployment_holds_the_second_machine() -> Result<()> {
    let world = start("budget", Served::Ours).await?;
    let set = world.create_deployed_set().await?;
    for name in ["m-0", "m-1", "m-2"] {
        world.create_one(name, &set).await?;
    }
    world.report("m-0", "Ready", "False", LONG).await?;
    world.report("m-1", "Ready", "False", LONG / 2).await?;
    world.create_check(CHECK, json!({}), json!({})).await?;
    let process = world.run()?;
    assert_eq!(world.until_left(2).await?, ["m-1", "m-2"]);
    let note = world.until_event("m-1", "RemediationHeld").await?;
    assert!(note.contains("MachineDeployment web") && note.contains("allows 1"), "{note}");
    // Its replacement has a Node.
    world.create_one("m-3", &set).await?;
    assert_eq!(world.until_left(2).await?, ["m-2", "m-3"]);
    process.kill().await
}

/// No deadline in the future is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_whose_clock_is_ahead_is_remediated_after_the_timeout() -> Result<()> {
    let world = start("ahead", Served::Ours).await?;
    world.create_fleet(2).await?;
    let soon = json!({"type": "Sick", "status": "True", "timeout": "2s"});
    world.create_check(CHECK, json!({}), json!({"unhealthyConditions": [soon]})).await?;
    world.report("m-0", "Sick", "True", LONG * -24).await?;
    let process = world.run()?;
    assert_eq!(world.until_left(1).await?, ["m-1"]);
    process.kill().await
}

async fn a_deletion_whose_answer_is_lost_is_reported(world: Fixture) -> Result<()> {
    world.create_fleet(2).await?;
    let deletion = Match::any().verbs([Verb::Delete]).resource("machines");
    let lost = world.proxy.add_rule(Rule::new(deletion, Effect::LoseAnswer).times(1));
    let process = world.run()?;
    world.create_check(CHECK, json!({}), json!({})).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    lost.hit(1, PATIENCE).await?;
    assert_eq!(world.until_left(1).await?, ["m-1"]);
    let note = world.until_event("m-0", "MachineDeleted").await?;
    assert_eq!(world.until_event(CHECK, "MachineDeleted").await?, note);
    let success = "mapi_machinehealthcheck_remediation_success_total";
    assert_eq!(process.count(success, &[CHECK, &world.namespace]), 1);
    process.kill().await
}

/// It neither uses the budget of the deployment, nor is it shown as remediated.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_machine_is_shown_and_uses_no_budget() -> Result<()> {
    let world = start("frozen", Served::Ours).await?;
    let set = world.create_deployed_set().await?;
    for name in ["m-0", "m-1", "m-2"] {
        world.create_one(name, &set).await?;
    }
    let freeze = json!({"metadata": {"annotations": {"machinist.dev/freeze": "under repair"}}});
    world.patch_machine("m-0", freeze).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    world.report("m-1", "Ready", "False", LONG / 2).await?;
    world.create_check(CHECK, json!({}), json!({})).await?;
    let process = world.run()?;
    assert_eq!(world.until_left(2).await?, ["m-0", "m-2"]);
    let note = world.until_event("m-0", "RemediationHeld").await?;
    assert!(note.contains("frozen by the annotation machinist.dev/freeze"), "{note}");
    // Its replacement has a Node, and the end of the freeze is seen.
    world.create_one("m-3", &set).await?;
    let thaw = json!({"metadata": {"annotations": {"machinist.dev/freeze": null}}});
    world.patch_machine("m-0", thaw).await?;
    assert_eq!(world.until_left(2).await?, ["m-2", "m-3"]);
    process.kill().await
}

/// Discovery shows that MachineDeployments are served.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_list_definitions_budgets_are_read() -> Result<()> {
    let world = start("definitions", Served::Ours).await?;
    let set = world.create_deployed_set().await?;
    for name in ["m-0", "m-1", "m-2"] {
        world.create_one(name, &set).await?;
    }
    world.report("m-0", "Ready", "False", LONG).await?;
    world.create_check(CHECK, json!({}), json!({})).await?;
    let definitions = Match::any().resource("customresourcedefinitions");
    world.proxy.add_rule(Rule::new(definitions, Effect::answer(403)));
    let deployments = Match::any().verbs([Verb::List]).resource("machinedeployments");
    let forbidden = world.proxy.add_rule(Rule::new(deployments, Effect::answer(403)));
    let process = world.run()?;
    let note = world.until_event("m-0", "RemediationHeld").await?;
    assert!(note.contains("MachineDeployment web cannot be read: not allowed"), "{note}");
    forbidden.remove();
    assert_eq!(world.until_left(2).await?, ["m-1", "m-2"]);
    process.kill().await
}
