//! On OpenShift the cluster's settings say where AWS is and which certificates it has.

use anyhow::{Context, Result};
use machinist_testbed::aws::{Authority, Transport};
use machinist_testbed::kubectl::kubectl;
use serde_json::json;

use super::process;
use super::world::alone;

/// Nothing listens there.
const NOWHERE: (&str, &str) = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");

#[test]
fn endpoints_and_ca_of_the_cluster_are_used() -> Result<()> {
    alone(async |world| {
        let cloud = world.cloud.another_front(Transport::Tls(Authority::new()?)).await?;
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": anything},
        });
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "infrastructures.config.openshift.io"},
            "spec": {
                "group": "config.openshift.io",
                "scope": "Cluster",
                "names": {"kind": "Infrastructure", "plural": "infrastructures"},
                "versions": [version],
            },
        });
        world.control_plane.install_crds(&crd.to_string()).await?;
        let endpoint = |name| json!({"name": name, "url": cloud.endpoint_url()});
        let endpoints = [endpoint("ec2"), endpoint("autoscaling")];
        let config = "openshift-config-managed";
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": config}},
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "kube-cloud-config", "namespace": config},
                "data": {"ca-bundle.pem": cloud.ca_pem().context("a CA")?},
            },
            {
                "apiVersion": "config.openshift.io/v1",
                "kind": "Infrastructure",
                "metadata": {"name": "cluster"},
                "status": {"platformStatus": {"type": "AWS", "aws": {"serviceEndpoints": endpoints}}},
            },
        ]});
        kubectl(&world.control_plane, &["apply", "-f", "-"], Some(&objects.to_string())).await?;
        let nodes = world.group("workers", [1, 3, 2]).await?;
        world.create("workers", json!({})).await?;
        let before = world.cloud.front().calls().len();

        let kubeconfig = world.control_plane.kubeconfig_path();
        let (region, flags) = (world.estate.region(), ["--time-scale=0.2"]);
        let flags = [&["--metrics-bind-address=0"], &flags[..]].concat();
        let _recycler = process::start_with(kubeconfig, &world.cloud, region, &flags, &[NOWHERE])?;
        world.complain("workers", &nodes[0]).await?;
        world.at_step("workers", "Replacing").await?;
        for operation in ["DescribeInstances", "DescribeAutoScalingGroups"] {
            assert!(!cloud.front().calls_of(operation).is_empty(), "{operation}");
        }
        assert_eq!(world.cloud.front().calls().len(), before);
        Ok(())
    })
}
