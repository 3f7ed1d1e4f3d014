//! A Machine with any content gets a decision and a report.

use anyhow::Result;
use machinist_api::wire;
use machinist_testbed::fuzz::{done, feed};
use serde_json::Value;

use super::plan::Outcome;
use super::samples::{now, snapshot, view_of};
use super::{decide, report};

pub(crate) const MACHINE: &str = r#"{"metadata": {"name": "m", "namespace": "ns", "uid": "uid-m", "resourceVersion":
"1", "generation": 2, "creationTimestamp": "2026-06-01T12:00:00Z", "deletionTimestamp": "2026-06-01T12:00:30Z",
"labels": {"machine.openshift.io/cluster-api-cluster": "c"}, "annotations": {"machinist.dev/creation-timeout": "30m",
"machine.openshift.io/exclude-node-draining": "", "machine.openshift.io/instance-state": "running"}, "finalizers":
["machine.machine.openshift.io"], "ownerReferences": [{"apiVersion": "machine.openshift.io/v1beta1", "kind":
"MachineSet", "name": "s", "uid": "u", "controller": true, "blockOwnerDeletion": true}]}, "spec": {"providerID":
"sim:///r/z/i", "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "taints": [{"key": "k", "value": "v",
"effect": "NoSchedule"}], "lifecycleHooks": {"preDrain": [{"name": "h", "owner": "o"}], "preTerminate": []},
"providerSpec": {"value": {"zone": "z", "kind": "SimMachineProviderConfig", "instanceType": "sim.small"}},
"authoritativeAPI": "MachineAPI"}, "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": "n", "uid": "u"},
"lastUpdated": "2026-06-01T12:00:00Z", "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "errorReason": "r",
"errorMessage": "m", "providerStatus": {"launch": {"attempt": 1, "zone": "z"}, "instanceId": "i"}, "conditions":
[{"type": "InstanceExists", "status": "True", "reason": "r", "message": "m", "severity": "Info", "lastTransitionTime":
"2026-06-01T12:00:00Z"}, {"type": "Drained", "status": "False", "reason": "Evicting"}, {"type": "Ready", "status":
"True"}]}}"#;

#[test]
fn fuzz_decisions_about_machines() -> Result<()> {
    feed(&[MACHINE], |bytes| {
        let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return };
        if serde_json::from_slice::<wire::Machine>(object.to_string().as_bytes()).is_err() {
            return;
        }
        let snapshot = snapshot(view_of(&object));
        let plan = decide(&snapshot, now());
        done(report(&snapshot, &plan, &Outcome::Done, now()));
    })
}
