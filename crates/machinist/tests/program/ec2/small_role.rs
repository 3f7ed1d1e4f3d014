//! The annotator with the smallest ClusterRole that its users plan with: no list of CustomResourceDefinitions, no
//! `events.k8s.io`, no Leases, no FeatureGates. What it does instead is reported, and it still finds the cluster's
//! endpoint and CA bundle. And with the role of an earlier version.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use machinist_testbed::audit::AuditLog;
use machinist_testbed::aws::{Authority, Transport};
use machinist_testbed::http;
use serde_json::json;

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{TYPES, cloud_over};
use crate::ec2::support::stays;
use crate::ec2::support::world::{Ec2World, LABELS, VCPU, machine, machine_as};

#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_crds_leases_and_new_events_is_enough() -> Result<()> {
    let world = Ec2World::openshift("small-role").await?;
    let cloud = cloud_over(Transport::Tls(Authority::new()?)).await?;
    world.point_to(&cloud.endpoint_url()).await?;
    world.trust(cloud.ca_pem().context("a CA")?).await?;
    world.set_gates(&[("4.21.0", &["MachineAPIMigration"], &[])]).await?;
    let keys = [("aws_access_key_id", "AKIASMALL"), ("aws_secret_access_key", "x")];
    world.put_secret("keys", &keys).await?;
    world.create("theirs", machine_as("keys", "m5.large")).await?;
    let theirs = Patch::Merge(json!({"status": {"authoritativeAPI": "ClusterAPI"}}));
    world.sets().patch_status("theirs", &PatchParams::default(), &theirs).await?;

    let watch = ["get", "list", "watch"];
    let rules = json!([
        {
            "apiGroups": ["machine.openshift.io"],
            "resources": ["machinesets"],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        {"apiGroups": ["config.openshift.io"], "resources": ["infrastructures"], "verbs": watch},
        {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": watch},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]);
    let kubeconfig = world.account("annotator", rules).await?;
    let launch = Launch::new(&world)?.with_kubeconfig(&kubeconfig)?;
    let annotator = launch.flag("--instance-types=ec2").start().await?;
    world.create("set", machine_as("keys", "m5.large")).await?;
    world.create("unknown", machine_as("keys", "m99.mega")).await?;

    let annotations = world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(annotations[LABELS], "kubernetes.io/arch=amd64", "OpenShift's annotator may run");
    assert!(!cloud.front().calls_of(TYPES).is_empty());
    world.hears("set", "Annotated", VCPU).await?;
    world.hears("unknown", "FailedUpdate", "m99.mega").await?;
    stays("the set of the other API is left alone", async || {
        ensure!(world.annotations("theirs").await?.is_empty(), "it is annotated");
        Ok(())
    })
    .await?;

    let log = annotator.log()?;
    for report in [
        "using discovery instead of CustomResourceDefinitions",
        "using core Events",
        "cannot read FeatureGate cluster",
        "assuming that OpenShift's annotator runs",
        "objects of this kind are ignored",
    ] {
        assert_eq!(log.matches(report).count(), 1, "{report}: {log}");
    }
    let user = format!("system:serviceaccount:{}:annotator", world.namespace);
    let mut requests = AuditLog::of(world.control_plane()).read_new()?;
    requests.retain(|entry| entry.user == user && entry.code == 403);
    let forbidden: BTreeSet<_> =
        requests.iter().map(|entry| format!("{}.{}", entry.resource, entry.group)).collect();
    let expected = [
        "customresourcedefinitions.apiextensions.k8s.io",
        "events.events.k8s.io",
        "featuregates.config.openshift.io",
        "leases.coordination.k8s.io",
        "machinedeployments.machine.openshift.io",
    ];
    assert_eq!(forbidden, expected.map(str::to_owned).into());
    Ok(())
}

/// Its namespace has no EC2 endpoint, so the annotator asks where the environment says.
#[tokio::test(flavor = "multi_thread")]
async fn without_openshift_the_same_role_is_enough() -> Result<()> {
    let world = Ec2World::plain("small-role-plain").await?;
    let rules = json!([
        {
            "apiGroups": ["machine.openshift.io"],
            "resources": ["machinesets"],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]);
    let kubeconfig = world.account("annotator", rules).await?;
    let launch = Launch::new(&world)?.with_kubeconfig(&kubeconfig)?;
    let _annotator = launch.flag("--instance-types=catalogue").start().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    world.hears("set", "Annotated", VCPU).await
}

/// An upgrade of the image with the ClusterRole of a version without MachineDeployments, on a cluster that serves them:
/// it may list definitions, and not these objects.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_without_machine_deployments_is_ready_where_they_are_served() -> Result<()> {
    let world = Ec2World::plain("old-role").await?;
    let rules = json!([
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "verbs": ["list", "watch"],
        },
        {
            "apiGroups": ["machine.openshift.io"],
            "resources": ["machinesets"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]);
    let kubeconfig = world.account("annotator", rules).await?;
    let launch = Launch::new(&world)?.with_kubeconfig(&kubeconfig)?;
    let launch = launch.flag("--instance-types=catalogue");
    let (annotator, probes) = launch.start_with_probes().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    annotator.until_logged("objects of this kind are ignored").await?;
    let ready = async || {
        let (code, details) = http::get(probes, "/readyz").await?;
        let ready = code == 200 && details.contains("controller annotator runs");
        ensure!(ready && !details.contains("machinedeployments"), "{code}: {details}");
        Ok(())
    };
    world.eventually("the annotator to be ready", ready).await?;
    stays("it is ready without the objects that it may not list", ready).await?;
    assert_eq!(annotator.log()?.matches("objects of this kind are ignored").count(), 1);
    Ok(())
}
