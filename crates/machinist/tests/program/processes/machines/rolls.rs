//! Everything that the controller of MachineDeployments does: rolls, changes of living Machines, marks, adoptions,
//! failures, and a name that is taken.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_CHANGE_CAUSE, ANNOTATION_FREEZE, ANNOTATION_HOT_FIELDS,
    ANNOTATION_ORDINALS, ANNOTATION_PRESERVE, ANNOTATION_PRESERVE_TIMEOUT, CONDITION_FROZEN,
    IN_PLACE_READY, IN_PLACE_SUCCESSFUL, LABEL_DEPLOYMENT_NAME, LABEL_IN_PLACE,
    LABEL_IN_PLACE_RESULT,
};
use machinist_testbed::world::reading::condition;
use serde_json::{Value, json};

use super::fleet::{Fleet, WANTED, machine_spec};

/// The deployment.
pub(super) const WEB: &str = "web";

fn spec(name: &str, replicas: usize, provider: &Value) -> Value {
    let labels = json!({"app": name, "machine.openshift.io/cluster-api-cluster": "c"});
    json!({
        "replicas": replicas,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": labels}, "spec": machine_spec(provider)},
    })
}

async fn freeze(fleet: &Fleet) -> Result<()> {
    for (text, expected) in [(json!("maintenance"), "True/Requested"), (Value::Null, "")] {
        let annotations = json!({ANNOTATION_FREEZE: text});
        fleet.patch_deployment(WEB, json!({"metadata": {"annotations": annotations}})).await?;
        let shown = |one: &DynamicObject| condition(one, CONDITION_FROZEN) == expected;
        fleet.until_deployment(WEB, "the freeze to be shown", shown).await?;
    }
    Ok(())
}

/// There are no Machines before and afterwards.
pub(super) async fn roll(fleet: &Fleet) -> Result<()> {
    fleet.create_machine_deployment(WEB, json!({}), spec(WEB, 1, &json!({}))).await?;
    complete(fleet, 1).await?;
    freeze(fleet).await?;
    of_an_earlier_version(fleet).await?;
    // What changes on living Machines.
    let template = json!({
        "metadata": {"annotations": {
            "machinist.dev/drain-timeout": "1m", "machinist.dev/creation-timeout": "10m",
            "machinist.dev/health-timeout": "9m",
        }},
        "spec": {
            "metadata": {"labels": {WANTED: "no"}}, "taints": [],
            "providerSpec": {"value": {"tags": {"team": "a"}}},
        },
    });
    fleet.patch_deployment(WEB, json!({"spec": {"template": template}})).await?;
    complete(fleet, 1).await?;
    caused(fleet, "faster disks").await?;
    kept(fleet).await?;
    guarded(fleet).await?;
    // A rollback in the middle: the first set is numbered again.
    boot_in(fleet, 30).await?;
    fleet
        .eventually("the set of the new template", || async {
            let sets = fleet.sets().list(&of(WEB)).await?.items.len();
            ensure!(sets == 2, "{sets} sets");
            Ok(())
        })
        .await?;
    boot_in(fleet, 0).await?;
    complete(fleet, 1).await?;
    // A template whose Machines take a moment: one that is not ready is marked and deleted instead of a ready one.
    boot_in(fleet, 5).await?;
    let name = complete(fleet, 1).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 2}})).await?;
    fleet
        .eventually("a second machine", || async {
            let all = fleet.all_machines().await?;
            ensure!(all.len() == 2, "{} machines", all.len());
            Ok(())
        })
        .await?;
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 1}})).await?;
    // The second one is marked and goes.
    ensure!(complete(fleet, 1).await? == name, "the ready machine was deleted");
    update_in_place(fleet, &name).await?;
    adopt(fleet).await?;
    fail(fleet).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 0}})).await?;
    fleet.running(0).await?;
    clash(fleet).await
}

/// Waits until the rollout is complete and old sets are deleted; returns the first Machine.
async fn complete(fleet: &Fleet, size: usize) -> Result<String> {
    fleet
        .until_deployment(WEB, "the rollout", |web| {
            let seen = web.data["status"]["observedGeneration"].as_i64();
            condition(web, "Progressing") == "True/NewMachineSetAvailable"
                && seen == web.metadata.generation
        })
        .await?;
    let running = fleet.running(size).await?;
    fleet
        .eventually("old sets to be deleted", || async {
            let sets = fleet.sets().list(&of(WEB)).await?.items.len();
            ensure!(sets == 1, "{sets} sets");
            Ok(())
        })
        .await?;
    Ok(running.into_iter().next().map(|(machine, _)| machine).unwrap_or_default())
}

/// The template has its Machines kept for debugging. A Machine keeps its request when that of the template ends.
async fn kept(fleet: &Fleet) -> Result<()> {
    let annotated = |value: Value, timeout: Value| {
        let annotations = json!({ANNOTATION_PRESERVE: value, ANNOTATION_PRESERVE_TIMEOUT: timeout});
        json!({"metadata": {"annotations": annotations}})
    };
    let counted = async |count: i64| {
        let is = |web: &DynamicObject| {
            web.data["status"]["preservedReplicas"].as_i64().unwrap_or_default() == count
        };
        fleet.until_deployment(WEB, "the number of preserved Machines", is).await
    };
    let template = annotated(json!("now"), json!("1h"));
    fleet.patch_deployment(WEB, json!({"spec": {"template": template}})).await?;
    counted(1).await?;
    let none = annotated(Value::Null, Value::Null);
    fleet.patch_deployment(WEB, json!({"spec": {"template": none}})).await?;
    let machine = complete(fleet, 1).await?;
    fleet.patch_machine(&machine, none).await?;
    counted(0).await?;
    complete(fleet, 1).await.map(drop)
}

/// A set without the fields that its hash leaves out gets them.
async fn of_an_earlier_version(fleet: &Fleet) -> Result<()> {
    let set = fleet.sets().list(&of(WEB)).await?.items.remove(0).name_any();
    fleet
        .patch_set(&set, json!({"metadata": {"annotations": {ANNOTATION_HOT_FIELDS: null}}}))
        .await?;
    let recorded = |set: &DynamicObject| {
        set.annotations().get(ANNOTATION_HOT_FIELDS).is_some_and(|fields| fields == "tags")
    };
    fleet.until_set(&set, "the hot fields", recorded).await?;
    Ok(())
}

/// The set gets the change cause of the deployment.
async fn caused(fleet: &Fleet, cause: &str) -> Result<()> {
    let metadata = json!({"annotations": {ANNOTATION_CHANGE_CAUSE: cause}});
    fleet.patch_deployment(WEB, json!({"metadata": metadata})).await?;
    fleet
        .eventually("the change cause", || async {
            let sets = fleet.sets().list(&of(WEB)).await?.items;
            let has = |set: &DynamicObject| {
                set.annotations().get(ANNOTATION_CHANGE_CAUSE).is_some_and(|own| own == cause)
            };
            ensure!(sets.iter().all(has), "{sets:?}");
            Ok(())
        })
        .await
}

/// The canaries of a complete rollout passed; another rollout is stopped because its new Machine fails.
async fn guarded(fleet: &Fleet) -> Result<()> {
    let guards = |value: Value| json!({"spec": {"strategy": {"rollingUpdate": {"canary": value, "abort": value}}}});
    fleet.patch_deployment(WEB, guards(json!({}))).await?;
    let set = fleet.sets().list(&of(WEB)).await?.items.remove(0).name_any();
    let passed = |set: &DynamicObject| set.annotations().contains_key(ANNOTATION_CANARY_PASSED);
    fleet.until_set(&set, "its canaries passed", passed).await?;
    let broken = json!({"providerSpec": {"value": {"bootSeconds": "soon"}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": {"spec": broken}}})).await?;
    let aborted = |web: &DynamicObject| condition(web, "Progressing") == "False/RolloutAborted";
    fleet.until_deployment(WEB, "the rollout is aborted", aborted).await?;
    boot_in(fleet, 0).await?;
    complete(fleet, 1).await?;
    fleet.patch_deployment(WEB, guards(Value::Null)).await
}

/// Here, the agent is a user. The Machine stays.
async fn update_in_place(fleet: &Fleet, name: &str) -> Result<()> {
    let template = json!({"spec": {"providerSpec": {"value": {"image": "new"}}}});
    let strategy = json!({"type": "InPlaceUpdate"});
    let spec = json!({"strategy": strategy, "template": template});
    fleet.patch_deployment(WEB, json!({"spec": spec})).await?;
    let offered =
        |machine: &DynamicObject| condition(machine, "InPlaceUpdate") == "False/ReadyForUpdate";
    let machine = fleet.until_machine(name, "the Node to be drained", offered).await?;
    let node = machine.data["status"]["nodeRef"]["name"].as_str().unwrap_or_default().to_owned();
    let ready = |node: &Node| {
        node.labels().get(LABEL_IN_PLACE).is_some_and(|state| state == IN_PLACE_READY)
    };
    fleet
        .eventually("the Node to be ready for its update", || async {
            ensure!(ready(&fleet.nodes().get(&node).await?), "not yet");
            Ok(())
        })
        .await?;
    let result = json!({"metadata": {"labels": {LABEL_IN_PLACE_RESULT: IN_PLACE_SUCCESSFUL}}});
    fleet.nodes().patch(&node, &PatchParams::default(), &Patch::Merge(result)).await?;
    ensure!(complete(fleet, 1).await? == name, "the Machine was replaced");
    let done = |machine: &DynamicObject| condition(machine, "InPlaceUpdate").is_empty();
    fleet.until_machine(name, "the end of the update", done).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"strategy": {"type": "RollingUpdate"}}})).await
}

async fn boot_in(fleet: &Fleet, seconds: u32) -> Result<()> {
    let value = json!({"bootSeconds": seconds});
    let machine = json!({"providerSpec": {"value": value}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": {"spec": machine}}})).await
}

fn of(name: &str) -> ListParams {
    ListParams::default().labels(&format!("app={name}"))
}

/// A set that a user made is adopted; one whose labels no longer match is released.
async fn adopt(fleet: &Fleet) -> Result<()> {
    let labels = json!({"app": WEB, "own": "set"});
    let template = json!({"metadata": {"labels": labels}, "spec": machine_spec(&json!({}))});
    let selector = json!({"matchLabels": {"own": "set"}});
    let spec = json!({"replicas": 0, "selector": selector, "template": template});
    fleet.create_machine_set("stranger", json!({"labels": {"app": "none"}}), spec).await?;
    // Adopted, and deleted with the history; until then it may be seen.
    let matching = json!({"metadata": {"labels": {"app": WEB}}});
    fleet.patch_deployment(WEB, json!({"spec": {"revisionHistoryLimit": 3}})).await?;
    fleet.patch_set("stranger", matching).await?;
    // cluster-autoscaler finds it by the label.
    let named = |set: &DynamicObject| {
        set.labels().get(LABEL_DEPLOYMENT_NAME).is_some_and(|name| name == WEB)
    };
    let owned = |set: &DynamicObject| !set.owner_references().is_empty();
    fleet.until_set("stranger", "the adoption", |set| owned(set) && named(set)).await?;
    fleet.patch_set("stranger", json!({"metadata": {"labels": {"app": "none"}}})).await?;
    fleet.until_set("stranger", "the release", |set| !owned(set) && !named(set)).await?;
    fleet.delete_set("stranger").await
}

/// A set that cannot create Machines is reported on its deployment.
async fn fail(fleet: &Fleet) -> Result<()> {
    let set = fleet.sets().list(&of(WEB)).await?.items.remove(0).name_any();
    let window = |value: Value| json!({"metadata": {"annotations": {ANNOTATION_ORDINALS: value}}});
    fleet.patch_set(&set, window(json!("odd"))).await?;
    let failing = |web: &DynamicObject| condition(web, "ReplicaFailure").starts_with("True");
    fleet.until_deployment(WEB, "the set's failure", failing).await?;
    fleet.patch_set(&set, window(Value::Null)).await?;
    fleet.until_deployment(WEB, "the end of the failure", |web| !failing(web)).await?;
    Ok(())
}

/// A deployment that is recreated meets the set of the first one, which is not garbage collected here.
async fn clash(fleet: &Fleet) -> Result<()> {
    let create =
        || fleet.create_machine_deployment("clash", json!({}), spec("clash", 0, &json!({})));
    let sets = async |count: usize| {
        fleet
            .eventually("the sets of the deployment", || async {
                let sets = fleet.sets().list(&of("clash")).await?.items.len();
                ensure!(sets == count, "{sets} sets");
                Ok(())
            })
            .await
    };
    create().await?;
    sets(1).await?;
    fleet.deployments().delete("clash", &DeleteParams::default()).await?;
    create().await?;
    let counted = |clash: &DynamicObject| clash.data["status"]["collisionCount"] == 1;
    fleet.until_deployment("clash", "the collision", counted).await?;
    sets(2).await
}
