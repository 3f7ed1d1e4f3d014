//! Starting, sharing and stopping.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use machinist_runtime::manager::Options;
use machinist_runtime::timings::Timings;
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::eventually;
use serde_json::json;

use crate::toys::{Acting, MARK, MarkConfigMaps, MarkMachineSets, WatchConfigMaps, toy};
use crate::world::{PATIENCE, ToyWorld, control_plane, timings};

#[tokio::test(flavor = "multi_thread")]
async fn one_controller_starts_while_another_waits_for_its_kind() {
    let world = ToyWorld::new("alone").await;
    let acting = Arc::default();
    let controllers = vec![toy::<MarkConfigMaps>(&acting), toy::<MarkMachineSets>(&acting)];
    let running = world.run(world.options(), controllers);
    let waits = "[!] controller machine-sets waits for machinesets.machine.openshift.io: the \
                 CustomResourceDefinition is missing; apply deploy/crds/machine";
    running.assert_readiness(waits).await;
    world.create_config_maps(2).await;
    world.all_marked(2).await;
    // The definitions may be listed later than the collection that is not served.
    running.assert_readiness("readyz check passed").await;

    let yaml: String = machinist_api::crds()
        .iter()
        .map(|crd| serde_json::to_string(crd).unwrap() + "\n---\n")
        .collect();
    control_plane().await.install_crds(&yaml).await.unwrap();
    running.assert_readiness("controller machine-sets runs").await;
    let kind = ApiResource::from_gvk_with_plural(
        &kube::core::GroupVersionKind::gvk("machine.openshift.io", "v1beta1", "MachineSet"),
        "machinesets",
    );
    let sets: Api<DynamicObject> =
        Api::namespaced_with(world.client.clone(), &world.namespace, &kind);
    let set = DynamicObject::new("late", &kind).data(json!({"spec": {}}));
    sets.create(&PostParams::default(), &set).await.unwrap();
    let marked = eventually(PATIENCE, "the set is marked", || async {
        ensure!(sets.get("late").await?.annotations().contains_key(MARK));
        Ok(())
    });
    marked.await.unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_limit_concurrent_reconciles() {
    let world = ToyWorld::new("workers").await;
    world.create_config_maps(12).await;
    let slow = Effect::Delay(Duration::from_millis(100));
    world.proxy.add_rule(Rule::new(Match::writes().resource("configmaps"), slow));
    let (three, two) = (Arc::new(Acting::default()), Arc::new(Acting::default()));
    let workers = HashMap::from([("config-maps".to_owned(), 3)]);
    let controllers = vec![toy::<MarkConfigMaps>(&three), toy::<WatchConfigMaps>(&two)];
    let running = world.run(Options { workers, ..world.options() }, controllers);
    world.all_marked(12).await;
    assert_eq!(three.most.load(Ordering::SeqCst), 3);
    assert_eq!(two.most.load(Ordering::SeqCst), 2, "the other controller keeps its own number");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panicking_reconcile_costs_no_worker_and_is_retried() {
    let world = ToyWorld::new("panic").await;
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "boom"}})).unwrap();
    world.config_maps().create(&PostParams::default(), &map).await.unwrap();
    let running = world.run(world.options(), vec![toy::<MarkConfigMaps>(&Arc::default())]);
    world.all_marked(1).await;
    world.create_config_maps(4).await;
    world.all_marked(5).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_outside_of_a_reconcile_ends_the_process_and_releases_its_lease() {
    let world = ToyWorld::new("dead-task").await;
    world.create_config_maps(1).await;
    let options = Options { leader_elect: Some(true), ..world.options() };
    let running = world.run(options, vec![toy::<MarkConfigMaps>(&Arc::default())]);
    world.all_marked(1).await;
    let shared = running.shared.clone();
    assert!(shared.health.describe().0, "{:?}", shared.health.describe());

    // The task of the cache calls the subscriber.
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "bang"}})).unwrap();
    world.config_maps().create(&PostParams::default(), &map).await.unwrap();
    let error = running.failure().await.to_string();
    assert!(
        error.contains("task \"cache of configmaps\" panicked: a bug in a subscriber"),
        "{error}"
    );
    let (healthy, text) = shared.health.describe();
    assert!(!healthy && text.contains("[-] task \"cache of configmaps\" panicked"), "{text}");
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), &world.namespace);
    let spec = leases.get("machinist-config-maps").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.unwrap_or_default(), "", "it stops as after a signal");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_right_is_shown_with_its_cure_until_it_is_granted() {
    let world = ToyWorld::new("rights").await;
    world.create_config_maps(1).await;
    let no = Effect::Answer { code: 403, retry_after: None };
    let rule = |resource| Rule::new(Match::any().resource(resource), no.clone());
    let (maps, leases) =
        (world.proxy.add_rule(rule("configmaps")), world.proxy.add_rule(rule("leases")));
    let options = Options { leader_elect: Some(true), ..world.options() };
    let running = world.run(options, vec![toy::<MarkConfigMaps>(&Arc::default())]);
    let lease = format!("[!] lease {}/machinist-config-maps cannot be read", world.namespace);
    running.assert_readiness(&lease).await;
    running.assert_readiness("[!] cache of configmaps").await;
    let text = running.readiness();
    assert!(!running.is_ready() && !text.contains("no holder"), "{text}");
    assert!(
        text.contains("; apply the Role for Leases") && text.contains("; grant it with a Role")
    );

    // It may read the Lease now, but not create it.
    leases.remove();
    let writes = Match::writes().resource("leases");
    let leases = world.proxy.add_rule(Rule::new(writes, no.clone()));
    let lease = format!("[!] lease {}/machinist-config-maps cannot be acquired", world.namespace);
    running.assert_readiness(&lease).await;
    assert!(!running.is_ready());

    leases.remove();
    maps.remove();
    running.assert_readiness("which is this process").await;
    world.all_marked(1).await;
    assert!(running.is_ready(), "{}", running.readiness());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_that_read_the_same_kind_share_one_watch() {
    let world = ToyWorld::new("shared").await;
    world.create_config_maps(3).await;
    let acting = Arc::default();
    let controllers = vec![toy::<MarkConfigMaps>(&acting), toy::<WatchConfigMaps>(&acting)];
    let running = world.run(world.options(), controllers);
    world.all_marked(3).await;
    let log = world.proxy.log();
    let of = |verb| {
        let entries = log.entries();
        let mine = entries.iter().filter(|entry| entry.request.resource == "configmaps");
        mine.filter(|entry| entry.request.verb == verb).count()
    };
    // The watch begins after the list, which is all that marks need.
    let watched = eventually(PATIENCE, "a watch", || async {
        ensure!(of(Verb::Watch) > 0, "{log}");
        Ok(())
    });
    watched.await.unwrap();
    assert_eq!((of(Verb::List), of(Verb::Watch)), (1, 1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_runs_twice_in_one_process_and_beside_itself() {
    let world = ToyWorld::new("twice").await;
    let acting = Arc::default();
    for count in [2, 4] {
        let running = world.run(world.options(), vec![toy::<MarkConfigMaps>(&acting)]);
        for n in count - 2..count {
            let map = json!({"metadata": {"name": format!("map-{n}")}});
            let map: ConfigMap = serde_json::from_value(map).unwrap();
            world.config_maps().create(&PostParams::default(), &map).await.unwrap();
        }
        world.all_marked(count).await;
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_controller_has_a_lease_of_its_own_whatever_else_runs_beside_it() {
    let world = ToyWorld::new("leases").await;
    world.create_config_maps(3).await;
    let acting = Arc::default();
    let elect = || Options { leader_elect: Some(true), ..world.options() };
    // No lease expires here, however busy the machine is.
    let patient = Timings { lease: 4 * PATIENCE, ..timings() };
    let one = world.run_with(&patient, elect(), vec![toy::<MarkConfigMaps>(&acting)]);
    world.all_marked(3).await;
    // The lease of the first controller is held by the other process.
    let both = vec![toy::<MarkConfigMaps>(&acting), toy::<WatchConfigMaps>(&acting)];
    let two_options = elect();
    let two_identity = two_options.identity.clone();
    let two = world.run_with(&patient, two_options, both);
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), &world.namespace);
    let holder = async |name: &str| -> Result<String> {
        let spec = leases.get(name).await?.spec;
        Ok(spec.and_then(|spec| spec.holder_identity).unwrap_or_default())
    };
    let second = eventually(PATIENCE, "the second holds the lease that is free", || async {
        ensure!(holder("machinist-config-maps-too").await? == two_identity);
        Ok(())
    });
    second.await.unwrap();
    assert_ne!(holder("machinist-config-maps").await.unwrap(), two_identity);
    one.stop().await;
    let taken = eventually(PATIENCE, "the second takes the lease that was given back", || async {
        ensure!(holder("machinist-config-maps").await? == two_identity);
        Ok(())
    });
    taken.await.unwrap();
    two.stop().await;
    assert_eq!(holder("machinist-config-maps").await.unwrap(), "", "given back on a clean stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing_at_all() {
    let world = ToyWorld::new("dry").await;
    world.create_config_maps(2).await;
    let acting = Arc::<Acting>::default();
    let options = Options { dry_run: true, leader_elect: Some(true), ..world.options() };
    let running = world.run(options, vec![toy::<MarkConfigMaps>(&acting)]);
    let decided = eventually(PATIENCE, "plans were made", || async {
        ensure!(acting.most.load(Ordering::SeqCst) > 0);
        Ok(())
    });
    decided.await.unwrap();
    running.stop().await;
    let log = world.proxy.log();
    let writes = log.entries().iter().filter(|entry| entry.request.verb.is_write()).count();
    assert_eq!(writes, 0);
}
