//! The manifests in `deploy/` are taken by a real API server and give every right that is needed, and no more: the
//! binary works as their ServiceAccount with the arguments of their Deployment, nothing that it asks for is forbidden,
//! and what it need not see is.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::Client;
use kube::api::{Api, GetParams, ListParams};
use kube::core::Request;
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::cluster;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::poll;
use machinist_testbed::service_account;
use serde_json::{Value, json};

use crate::processes::support::access::{Attempt, answer, may_look_at, may_not_look_at};
use crate::processes::support::installation::{Installation, apply_file};
use crate::processes::support::openshift::definition;
use crate::processes::support::process::Process;
use crate::processes::support::replica::LEADER;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::{
    AnnotatorWorld, LARGE, LEASE, SMALL, Shape, UNKNOWN, deployment_spec, spec,
};

/// Where the rival's Lease and, on OpenShift, everything else of machines is.
const MACHINE_API: &str = "openshift-machine-api";
const CONFIG: &str = "openshift-config-managed";
/// On top of the Deployment's: lets a follower take over soon.
const SHORT_LEASE: &str = "--leader-elect-lease-duration=3s";

#[tokio::test(flavor = "multi_thread")]
async fn the_base_gives_the_rights_that_are_needed_and_no_more() -> Result<()> {
    // Its own control plane: as deployed, it looks at all namespaces.
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::called(&control_plane, "my-machines".to_owned()).await?;
    let installation = Installation::apply(&control_plane, "base").await?;
    assert_eq!(installation.namespace, "machinist-system");
    apply_file(&control_plane, "examples/role-credentials.yaml").await?;

    it_works(&control_plane, &world, &installation, &json!({}), &[]).await?;

    let account = installation.client(&control_plane).await?;
    leases_come_first(&world, &account, &installation, LEASE, "set").await?;
    let secrets = "/api/v1/namespaces/my-machines/secrets";
    may_look_at(&account, secrets, "my-aws-credentials").await?;
    may_not_look_at(&account, secrets, "unrelated").await?;
    may_not_look_at(&account, "/api/v1/namespaces/kube-system/secrets", "my-aws-credentials")
        .await?;
    may_not_look_at(&account, "/api/v1/namespaces/my-machines/configmaps", "any").await?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/machinist-system/leases";
    may_not_look_at(&account, leases, "unrelated").await?;
    let sets = "/apis/machine.openshift.io/v1beta1/namespaces/my-machines/machinesets";
    assert_eq!(answer(&account, sets, "set", Attempt::Delete).await?, 403);
    all_secrets_on_request(&control_plane, &installation).await
}

/// Without the additional right the flag is of no use, and that is seen; with it, the cache fills.
async fn all_secrets_on_request(
    control_plane: &ControlPlane,
    installation: &Installation,
) -> Result<()> {
    let (namespace, account) = (&installation.namespace, &installation.account);
    let kubeconfig = service_account::kubeconfig(control_plane, namespace, account).await?;
    let flags = installation.flags()?;
    let more = ["--watch-all-secrets", "--time-scale=0.1"];
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(more).collect();
    let process = Process::start(&kubeconfig, "all-secrets", &flags).await?;
    poll::eventually(PATIENCE, "the refusal to be seen", || async {
        let (code, details) = process.readyz().await?;
        let refused = details.lines().any(|line| line.contains("secrets") && line.contains("403"));
        ensure!(code == 503 && refused, "{code}: {details}");
        Ok(())
    })
    .await?;
    apply_file(control_plane, "examples/cluster-role-all-secrets.yaml").await?;
    process.wait_ready().await
}

/// What is read of OpenShift: collections, and the one object of each.
const OF_OPENSHIFT: [(&str, &str, &str); 5] = [
    ("/api/v1/namespaces/openshift-machine-api", "secrets", "aws-cloud-credentials"),
    ("/api/v1/namespaces/openshift-config-managed", "configmaps", "kube-cloud-config"),
    ("/apis/config.openshift.io/v1", "infrastructures", "cluster"),
    ("/apis/config.openshift.io/v1", "featuregates", "cluster"),
    (
        "/apis/coordination.k8s.io/v1/namespaces/openshift-machine-api",
        "leases",
        "cluster-api-provider-aws-leader",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_overlay_gives_the_rights_that_are_needed_on_openshift() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::called(&control_plane, MACHINE_API.to_owned()).await?;
    // EC2 is found by the Infrastructure, trusted by the ConfigMap, and called with the credentials of the
    // Secret: without these three, nothing is annotated.
    let aws = AwsBed::start_tls().await?;
    be_openshift(&control_plane, &aws).await?;
    let installation = Installation::apply(&control_plane, "overlays/openshift").await?;
    assert_eq!(installation.namespace, MACHINE_API);

    let provider = json!({
        "placement": {"region": "us-east-1"},
        "credentialsSecret": {"name": "aws-cloud-credentials"},
    });
    it_works(&control_plane, &world, &installation, &provider, &["--instance-types=ec2"]).await?;
    let found = reasons(&world).await?;
    assert!(!found.iter().any(|reason| reason == "CatalogueUsed"), "{found:?}");

    let user = installation.user();
    let mut requests = AuditLog::of(&control_plane).read_new()?;
    requests.retain(|entry| entry.user == user && entry.code == 200);
    let account = installation.client(&control_plane).await?;
    leases_come_first(&world, &account, &installation, LEASE, "set").await?;
    for (parent, resource, name) in OF_OPENSHIFT {
        let read = requests.iter().any(|entry| entry.resource == resource && entry.name == name);
        assert!(read, "{resource} {name} was not read, so the rights to do so are unused");
        let collection = format!("{parent}/{resource}");
        may_look_at(&account, &collection, name).await?;
        may_not_look_at(&account, &collection, "unrelated").await?;
    }
    Ok(())
}

/// Runs two replicas as they are deployed: sets are annotated, trouble is reported, the second takes over, nothing is
/// forbidden.
async fn it_works(
    control_plane: &ControlPlane,
    world: &AnnotatorWorld,
    installation: &Installation,
    provider: &Value,
    more_flags: &[&'static str],
) -> Result<()> {
    let (namespace, account) = (&installation.namespace, &installation.account);
    let kubeconfig = service_account::kubeconfig(control_plane, namespace, account).await?;
    let flags = installation.flags()?;
    let mut flags: Vec<_> = flags.iter().map(String::as_str).chain([SHORT_LEASE]).collect();
    flags.extend(more_flags);
    let mut leader = Process::start(&kubeconfig, "rights", &flags).await?;
    leader.wait_metric(LEADER, |value| value > 0.5).await?;
    let follower = Process::start(&kubeconfig, "rights", &flags).await?;
    follower.wait_ready().await?;

    world.create_machine_set("set", json!({}), spec_with(SMALL, provider)).await?;
    world.create_machine_set("unknown", json!({}), spec_with(UNKNOWN, provider)).await?;
    world.annotated("set", SMALL).await?;
    let mut web = deployment_spec(SMALL);
    web["template"]["spec"] = spec_with(SMALL, provider)["template"]["spec"].take();
    world.create_machine_deployment("web", json!({}), web).await?;
    world.deployment_annotated("web", SMALL).await?;
    poll::eventually(PATIENCE, "an Event about the unknown type", || async {
        let found = reasons(world).await?;
        ensure!(found.iter().any(|reason| reason == "FailedUpdate"), "there are {found:?}");
        Ok(())
    })
    .await?;
    leader.kill().await?;
    world.change_set("set", LARGE).await?;
    world.annotated("set", LARGE).await?;

    let user = installation.user();
    let mut requests = AuditLog::of(control_plane).read_new()?;
    requests.retain(|entry| entry.user == user);
    assert!(requests.iter().any(|entry| entry.is_write() && entry.resource == "machinesets"));
    requests.retain(|entry| matches!(entry.code, 401 | 403));
    let forbidden: Vec<_> = requests.iter().map(|entry| &entry.request_uri).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    Ok(())
}

fn spec_with(shape: Shape, provider: &Value) -> Value {
    let mut spec = spec(shape);
    for (field, value) in provider.as_object().into_iter().flatten() {
        spec["template"]["spec"]["providerSpec"]["value"][field] = value.clone();
    }
    spec
}

/// Of the Events in the world.
async fn reasons(world: &AnnotatorWorld) -> Result<Vec<String>> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    let events = events.list(&ListParams::default()).await?.items;
    Ok(events.into_iter().filter_map(|event| event.reason).collect())
}

/// What the annotator and kustomize meet on OpenShift, as far as they look at it.
async fn be_openshift(control_plane: &ControlPlane, aws: &AwsBed) -> Result<()> {
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
            "status": {"platformStatus": {"aws": {
                "region": "us-east-1",
                "serviceEndpoints": [{"name": "ec2", "url": aws.endpoint_url()}],
            }}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kube-cloud-config", "namespace": CONFIG},
            "data": {"ca-bundle.pem": aws.ca_pem()},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "aws-cloud-credentials", "namespace": MACHINE_API},
            "stringData": {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "example"},
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "cluster-api-provider-aws-leader", "namespace": MACHINE_API},
            "spec": {"holderIdentity": "rival", "leaseDurationSeconds": 120},
        },
    ]});
    kubectl(control_plane, &["apply", "-f", "-"], Some(&objects.to_string())).await?;
    // The namespace warns of pods that the restricted profile would refuse; a warning fails the installation.
    let label = ["label", "namespace", MACHINE_API, "pod-security.kubernetes.io/warn=restricted"];
    kubectl(control_plane, &label, None).await?;
    Ok(())
}

/// The FlowSchemas assign the account's requests to levels: Leases to one of their own, all others to another.
pub(crate) async fn leases_come_first(
    world: &AnnotatorWorld,
    account: &Client,
    installation: &Installation,
    lease: &str,
    set: &str,
) -> Result<()> {
    let leases =
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", installation.namespace);
    let sets =
        format!("/apis/machine.openshift.io/v1beta1/namespaces/{}/machinesets", world.namespace);
    let schemas = Api::<FlowSchema>::all(world.client.clone());
    for (collection, name, schema) in
        [(leases, lease, "machinist-leases"), (sets, set, "machinist")]
    {
        let wanted = schemas.get(schema).await?.metadata.uid.context("a uid")?;
        poll::eventually(PATIENCE, &format!("{schema} to take effect"), || async {
            let request = Request::new(&*collection).get(name, &GetParams::default())?;
            let response = account.send(request.map(Into::into)).await?;
            let found = response.headers().get("x-kubernetes-pf-flowschema-uid");
            ensure!(found.is_some_and(|uid| uid == wanted.as_str()), "it is {found:?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}
