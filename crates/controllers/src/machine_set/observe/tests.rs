use std::time::Duration;

use machinist_runtime::clock::ManualClock;
use serde_json::{Value, json};

use super::super::memory::{FailedClaim, MEMORY};
use super::super::samples;
use super::super::tests::controller;
use super::*;

/// The view with these Machines, whose last claims were refused.
fn refused(machines: &[Arc<Machine>]) -> View {
    let controller = controller(&Arc::<ManualClock>::default());
    let mut view = samples::view(&samples::set(), Vec::new());
    let set = samples::snapshot(view.clone()).meta;
    let now = controller.clock.uptime();
    for machine in machines {
        let cause = format!("{}: forbidden", machine.meta.key.name).into();
        let poll = Duration::from_secs(20);
        let failed = FailedClaim::after(None, machine.meta.version, cause, now, poll);
        let mut claims = controller.failed_claims.lock();
        claims.insert(machine.meta.uid.clone(), failed, now, MEMORY);
        drop(claims);
        add(&controller, &set, &mut view, &Entry::Known(Arc::clone(machine)));
    }
    view
}

fn owned(name: &str, labels: &Value) -> Arc<Machine> {
    let owner = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "set",
        "uid": "set-uid", "controller": true,
    });
    samples::machine(name, &json!({"metadata": {"labels": labels, "ownerReferences": [owner]}}))
}

#[tokio::test]
async fn a_refused_orphan_counts_and_a_refused_release_does_not() {
    let orphan = samples::machine("orphan", &json!({}));
    let released = owned("released", &json!({"a": "other"}));
    for (machines, orphans) in [
        (vec![Arc::clone(&orphan)], 1),
        (vec![Arc::clone(&released)], 0),
        (vec![orphan, released], 1),
    ] {
        let view = refused(&machines);
        assert_eq!(view.unadopted_orphans, orphans, "{machines:?}");
        let claims = (view.members.len(), view.orphans.len(), view.unselected.len());
        assert_eq!(claims, (0, 0, 0), "it is not tried again yet: {machines:?}");
        let cause = format!("{}: forbidden", machines[0].meta.key.name);
        assert_eq!(view.claim_failure.as_deref(), Some(&*cause), "but reported");
        assert_eq!(view.claim_retry, Some(Duration::from_secs(2)));
    }
}
