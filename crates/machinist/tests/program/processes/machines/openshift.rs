//! The overlay for OpenShift: the controllers work in OpenShift's namespace with its Secret, its certificates, its
//! name for the cluster and its Leases.

use anyhow::{Context, Result, ensure};
use kube::api::DeleteParams;
use machinist_api::names::{LEASE_MACHINE, LEASE_MACHINE_SET, LEASE_NODE_LINK};
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::poll;
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::life::SET;
use super::rights::{SOONER, strict};
use crate::processes::support::access::{may_look_at, may_not_look_at, may_only_get};
use crate::processes::support::installation::Installation;
use crate::processes::support::openshift::definition;
use crate::processes::support::process::Process;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::AnnotatorWorld;

const MACHINE_API: &str = "openshift-machine-api";
const CONFIG: &str = "openshift-config-managed";
/// What OpenShift calls the cluster.
const CLUSTER: &str = "prod-x7k2p";

/// What is read of OpenShift: collections, and the one object of each.
const OF_OPENSHIFT: [(&str, &str, &str); 4] = [
    ("/api/v1/namespaces/openshift-machine-api", "secrets", "aws-cloud-credentials"),
    ("/api/v1/namespaces/openshift-config-managed", "configmaps", "kube-cloud-config"),
    ("/apis/config.openshift.io/v1", "infrastructures", "cluster"),
    ("/apis/config.openshift.io/v1", "featuregates", "cluster"),
];

#[tokio::test(flavor = "multi_thread")]
async fn machines_come_and_go_on_openshift_with_the_rights_of_the_overlay() -> Result<()> {
    let control_plane = strict().await?;
    let world = AnnotatorWorld::called(&control_plane, MACHINE_API.to_owned()).await?;
    let fleet = Fleet::start(world).await?;
    be_openshift(&control_plane).await?;
    // Both parts fit beside each other, whichever comes first.
    Installation::apply(&control_plane, "overlays/openshift").await?;
    let installation = Installation::apply(&control_plane, "overlays/openshift-machines").await?;
    assert_eq!(installation.namespace, MACHINE_API);

    let kubeconfig = installation.kubeconfig(&control_plane).await?;
    let flags = installation.flags()?;
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(SOONER).collect();
    let mut process = fleet.process(&kubeconfig, &flags).await?;
    fleet
        .create_sim_set(SET, json!({"credentialsSecret": {"name": "aws-cloud-credentials"}}))
        .await?;
    fleet.scale(SET, 2).await?;
    fleet.running(2).await?;
    let tags: Vec<_> = fleet.cloud().instances().into_iter().map(|one| one.tags).collect();
    assert!(tags.iter().all(|tags| tags.values().any(|value| value == CLUSTER)), "{tags:?}");
    for lease in [LEASE_MACHINE, LEASE_MACHINE_SET, LEASE_NODE_LINK] {
        let spec = fleet.leases().get(lease).await?.spec.context("a spec")?;
        let holder = spec.holder_identity.unwrap_or_default();
        assert!(process.is_called(&holder), "{holder} has {lease}");
    }
    openshifts_metrics_are_there(&process).await?;
    cluster_api_is_in_charge_as_the_gate_says(&control_plane, &fleet).await?;
    fleet.scale(SET, 0).await?;
    fleet.running(0).await?;
    process.terminate().await?;

    let user = installation.user();
    let requests = poll::eventually(PATIENCE, "what is read of OpenShift", || async {
        let mut requests = AuditLog::of(&control_plane).read_new()?;
        requests.retain(|entry| entry.user == user);
        for (_, resource, name) in OF_OPENSHIFT {
            let read = requests.iter().any(|one| one.resource == resource && one.name == name);
            ensure!(read, "{resource} {name} was not read");
        }
        Ok(requests)
    })
    .await?;
    let forbidden: Vec<_> = requests.iter().filter(|entry| entry.code == 403).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    let account = installation.client(&control_plane).await?;
    for (parent, resource, name) in OF_OPENSHIFT {
        let collection = format!("{parent}/{resource}");
        may_look_at(&account, &collection, name).await?;
        may_not_look_at(&account, &collection, "unrelated").await?;
    }
    let secrets = format!("{}/secrets", OF_OPENSHIFT[0].0);
    for name in ["worker-user-data", "master-user-data-managed"] {
        may_only_get(&account, &secrets, name).await?;
    }
    Ok(())
}

/// Dashboards and alerts of the machine-api-operator use them.
async fn openshifts_metrics_are_there(process: &Process) -> Result<()> {
    process.wait_metric("mapi_machine_items", |count| (count - 2.0).abs() < 0.5).await?;
    process.wait_metric("mapi_machineset_items", |count| (count - 1.0).abs() < 0.5).await?;
    for kind in ["mapi_machine_items", "mapi_machineset_items"] {
        let up = format!(r#"mapi_mao_collector_up{{kind="{kind}"}}"#);
        process.wait_metric(&up, |up| up > 0.5).await?;
    }
    let labels = format!(
        r#"name="{SET}",namespace="{MACHINE_API}",api_version="machine.openshift.io/v1beta1""#
    );
    let created = format!("mapi_machineset_created_timestamp_seconds{{{labels}}}");
    process.wait_metric(&created, |seconds| seconds > 1.7e9).await
}

/// The overlay passes no gates: that of the cluster is obeyed, also when it changes.
async fn cluster_api_is_in_charge_as_the_gate_says(
    control_plane: &ControlPlane,
    fleet: &Fleet,
) -> Result<()> {
    let machines = fleet.machines();
    fleet.create_sim_machine_of("theirs", "ClusterAPI").await?;
    fleet
        .eventually("their machine to be paused", || async {
            let machine = machines.get("theirs").await?;
            let conditions = machine.data["status"]["conditions"].as_array().cloned();
            let paused = |one: &Value| one["type"] == "Paused" && one["status"] == "True";
            ensure!(conditions.iter().flatten().any(paused), "{}", machine.data);
            ensure!(machine.metadata.finalizers.is_none(), "{machine:?}");
            Ok(())
        })
        .await?;
    assert_eq!(fleet.cloud().live(), 2);
    set_gate(control_plane, "disabled").await?;
    fleet.running(3).await?;
    machines.delete("theirs", &DeleteParams::default()).await?;
    fleet.running(2).await?;
    Ok(())
}

/// Puts the gate for the migration of machines to Cluster API among those that are `enabled` or `disabled`.
async fn set_gate(control_plane: &ControlPlane, list: &str) -> Result<()> {
    let gates = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "FeatureGate",
        "metadata": {"name": "cluster"},
        "status": {"featureGates": [{"version": "4.21.0", list: [{"name": "MachineAPIMigration"}]}]},
    });
    kubectl(control_plane, &["apply", "-f", "-"], Some(&gates.to_string())).await?;
    Ok(())
}

/// What there is on OpenShift, as far as it is looked at.
async fn be_openshift(control_plane: &ControlPlane) -> Result<()> {
    for (group, version, kind, plural, scope) in [
        ("config.openshift.io", "v1", "Infrastructure", "infrastructures", "Cluster"),
        ("config.openshift.io", "v1", "FeatureGate", "featuregates", "Cluster"),
        ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", "Namespaced"),
    ] {
        let crd = definition(group, version, kind, plural, scope);
        control_plane.install_crds(&crd.to_string()).await?;
    }
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CONFIG}},
        {
            "apiVersion": "config.openshift.io/v1",
            "kind": "Infrastructure",
            "metadata": {"name": "cluster"},
            "status": {"infrastructureName": CLUSTER},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kube-cloud-config", "namespace": CONFIG},
            "data": {},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "aws-cloud-credentials", "namespace": MACHINE_API},
            "stringData": {"token": "t"},
        },
    ]});
    kubectl(control_plane, &["apply", "-f", "-"], Some(&objects.to_string())).await?;
    set_gate(control_plane, "enabled").await?;
    let label = ["label", "namespace", MACHINE_API, "pod-security.kubernetes.io/warn=restricted"];
    kubectl(control_plane, &label, None).await?;
    Ok(())
}
