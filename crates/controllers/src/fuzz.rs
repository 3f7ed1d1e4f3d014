//! What controllers read from a cluster, fed with mutated documents. `rg 'fn fuzz_'` finds the others: a reader that is
//! private to a module is fed there.

use std::sync::Arc;

use anyhow::Result;
use machinist_aws_spec::AwsSpecs;
use machinist_aws_spec::config::ProviderConfig;
use machinist_domain::capacity_annotations::Current;
use machinist_provider::cloud::ProviderStatus;
use machinist_provider::provider::Providers;
use machinist_provider::spec::SpecHalf;
use machinist_provider_sim::SimProvider;
use machinist_provider_sim::spec::SimMachineProviderConfig;
use machinist_runtime::cache::kind::Kind;
use machinist_testbed::fuzz::{done, feed};
use serde_json::value::RawValue;

use crate::drain::{Mark, Step};
use crate::kinds::{Events, MachineSets, Machines, Nodes, Pods};
use crate::machine_set::ordinals::Window;
use crate::machine_set::selector::Selector;
use crate::secrets;

const AWS_SPEC: &str = r#"{"apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig",
"ami": {"id": "ami-1", "filters": [{"name": "tag:a", "values": ["b"]}]}, "instanceType": "m6i.large",
"tags": [{"name": "a", "value": "b"}], "iamInstanceProfile": {"id": "role", "arn": "arn:aws:iam::1:role"},
"userDataSecret": {"name": "u"}, "credentialsSecret": {"name": "c"}, "keyName": "k", "deviceIndex": 0,
"publicIp": true, "networkInterfaceType": "EFA", "securityGroups": [{"id": "sg-1", "filters": []}],
"subnet": {"id": "subnet-1", "filters": []}, "loadBalancers": [{"name": "lb", "type": "network"}],
"placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1a", "tenancy": "host",
"host": {"affinity": "DedicatedHost", "dedicatedHost": {"id": "h-1", "allocationStrategy": "Dynamic",
"dynamicHostAllocation": {"tags": {"a": "b"}}}}},
"blockDevices": [{"deviceName": "/dev/xvda", "noDevice": "", "virtualName": "", "ebs": {"volumeSize": 9,
"volumeType": "gp3", "iops": 3000, "throughputMib": 125, "encrypted": true, "kmsKey": {"arn": "arn:aws:kms:k"},
"deleteOnTermination": true}}], "spotMarketOptions": {"maxPrice": "0.1"}, "marketType": "Spot",
"metadataServiceOptions": {"authentication": "Required"}, "placementGroupName": "g", "placementGroupPartition": 1,
"capacityReservationId": "cr-0123456789abcdef0", "cpuOptions": {"confidentialCompute": "Disabled"}}"#;

const SIM_SPEC: &str = r#"{"apiVersion": "sim.machinist.dev/v1beta1", "kind": "SimMachineProviderConfig",
"instanceType": "sim.small", "region": "sim-1", "zone": "a", "bootSeconds": 30, "stopSeconds": 1, "rootVolumeGiB": 2,
"dataVolumeGiB": 5, "tags": {"a": "b"}, "credentialsSecret": {"name": "s"}, "failures": {"neverBoots": false,
"diesAfterSeconds": 5, "noCapacity": false, "lostCreateAnswers": 1, "createAnswerDelaySeconds": 1}}"#;

pub(crate) const MACHINE_SET: &str = r#"{"metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "7",
"generation": 3, "creationTimestamp": "2026-06-01T12:00:00Z", "annotations": {"machinist.dev/ordinals": "3..5",
"machine.openshift.io/vCPU": "2", "machine.openshift.io/memoryMb": "8192", "machine.openshift.io/GPU": "0",
"capacity.cluster-autoscaler.kubernetes.io/labels": "a=b,kubernetes.io/arch=amd64",
"capacity.cluster-autoscaler.kubernetes.io/cpu": "2", "capacity.cluster-autoscaler.kubernetes.io/memory": "8Gi",
"machinist.dev/annotated": "v1:0123"}}, "spec": {"replicas": 3, "minReadySeconds": 5, "deletePolicy": "Oldest",
"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]},
"template": {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {"metadata": {"labels": {}},
"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "providerSpec": {"value": {"instanceType": "t"}}}},
"authoritativeAPI": "MachineAPI"}, "status": {"replicas": 3, "readyReplicas": 1, "availableReplicas": 1,
"fullyLabeledReplicas": 3, "observedGeneration": 2, "authoritativeAPI": "MachineAPI", "conditions": [{"type": "Paused",
"status": "False", "reason": "r", "message": "m", "severity": "Info", "lastTransitionTime":
"2026-06-01T12:00:00Z"}]}}"#;

const NODE: &str = r#"{"metadata": {"name": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"},
"annotations": {"machinist.dev/drain": "v1 2026-06-01T12:00:00Z cordoned", "machine.openshift.io/machine": "ns/m",
"machinist.dev/node-metadata": "{\"v\":1,\"labels\":[\"a\"]}"}, "deletionTimestamp": null}, "spec": {"providerID":
"sim:///r/z/i", "unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded":
"2026-06-01T12:00:00Z"}]}, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m",
"lastTransitionTime": "2026-06-01T12:00:00Z", "lastHeartbeatTime": "2026-06-01T12:00:00Z"}], "addresses": [{"type":
"InternalIP", "address": "10.0.0.1"}]}}"#;

const POD: &str = r#"{"metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7",
"deletionTimestamp": "2026-06-01T12:00:00Z", "deletionGracePeriodSeconds": 30, "annotations":
{"kubernetes.io/config.mirror": "x"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
"uid": "d", "controller": true}]}, "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30, "tolerations":
[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]}, "status": {"phase": "Running"}}"#;

const EVENT: &str = r#"{"metadata": {"name": "p.1", "namespace": "n", "uid": "e", "resourceVersion": "7",
"creationTimestamp": "2026-11-16T01:00:00Z"}, "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p", "uid":
"u", "apiVersion": "v1"}, "reason": "Failed", "message": "no room", "type": "Warning", "count": 3, "firstTimestamp":
"2026-11-16T01:00:00Z", "lastTimestamp": "2026-11-16T01:00:00Z", "eventTime": "2026-11-16T01:00:00.000001Z", "series":
{"count": 3, "lastObservedTime": "2026-11-16T01:00:00.000001Z"}, "source": {"component": "kubelet", "host": "h"},
"reportingComponent": "kubelet", "reportingInstance": "h"}"#;

fn project<K: Kind>(kind: &K, bytes: &[u8]) {
    if let Ok(wire) = serde_json::from_slice(bytes) {
        done(kind.project(wire));
    }
}

fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_slice(bytes).ok()
}

fn specs() -> Arc<dyn SpecHalf> {
    Arc::new(Providers::new(vec![Arc::new(SimProvider::at("http://127.0.0.1:9".to_owned()))]))
}

#[test]
fn fuzz_provider_specs_of_aws() -> Result<()> {
    feed(&[AWS_SPEC], |bytes| {
        if let Some(spec) = raw(bytes) {
            done((AwsSpecs.shape(&spec), AwsSpecs.validate(&spec), ProviderConfig::read(&spec)));
        }
    })
}

#[test]
fn fuzz_provider_specs_of_the_simulated_cloud() -> Result<()> {
    let specs = specs();
    feed(&[SIM_SPEC], |bytes| {
        if let Some(spec) = raw(bytes) {
            done((specs.shape(&spec), specs.validate(&spec), specs.provider(&spec)));
            done(SimMachineProviderConfig::read(&spec));
        }
    })
}

/// Of the stored state, which decides what is repeated after a crash.
#[test]
fn fuzz_provider_status() -> Result<()> {
    feed(
        &[r#"{"launch": {"attempt": 2, "zone": "a", "subnet": "s"}, "instanceId": "i-1"}"#],
        |bytes| {
            let status = ProviderStatus::read(raw(bytes).as_deref());
            done((status.attempt(), status.place(), status.is_empty()));
        },
    )
}

#[test]
fn fuzz_machine_sets() -> Result<()> {
    let kind: MachineSets = MachineSets::new(specs());
    feed(&[MACHINE_SET], |bytes| project(&kind, bytes))
}

/// The cache keeps what is repeated once, and must not keep what is gone.
#[test]
fn fuzz_machines() -> Result<()> {
    let kind = Machines::new(specs());
    feed(&[crate::machine::fuzz::MACHINE], |bytes| project(&kind, bytes))
}

#[test]
fn fuzz_nodes() -> Result<()> {
    feed(&[NODE], |bytes| {
        if let Ok(wire) = serde_json::from_slice(bytes) {
            done(Mark::of(&Nodes.project(wire)));
        }
    })
}

#[test]
fn fuzz_pods() -> Result<()> {
    feed(&[POD], |bytes| project(&Pods, bytes))
}

#[test]
fn fuzz_events() -> Result<()> {
    feed(&[EVENT], |bytes| project(&Events, bytes))
}

#[test]
fn fuzz_selectors() -> Result<()> {
    let sample = r#"{"matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}"#;
    feed(&[sample], |bytes| {
        if let Ok(wire) = serde_json::from_slice(bytes) {
            done(Selector::read(&wire).map(|selector| selector.to_string()));
        }
    })
}

/// A window of ordinals, the mark of a drain, a step of one, and the capacity that is known.
#[test]
fn fuzz_annotations() -> Result<()> {
    let samples =
        ["3..5", "v1 2026-06-01T12:00:00Z cordoned", "Evicting", "a=b,kubernetes.io/arch=amd64"];
    feed(&samples, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok(window) = text.parse::<Window>() {
            let next = window.advanced(u64::MAX, None, Some(u64::MAX));
            assert!(next.ordinals().count() <= 4096, "{text:?} reserves too much");
            done((window.closed(), window.advanced(3, Some(1), None)));
        }
        done((Mark::read(text).map(|mark| mark.to_string()), Step::read(text)));
        done(Current::read(|_| Some(text)));
    })
}

#[test]
fn fuzz_secrets() -> Result<()> {
    feed(
        &[r#"{"metadata": {"name": "s"}, "data": {"a": "YWJj", "b": ""}, "type": "Opaque"}"#],
        |bytes| {
            done(secrets::parse(bytes));
        },
    )
}
