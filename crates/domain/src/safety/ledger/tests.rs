use super::*;
use crate::key::ObjectKey;
use crate::retry::{Category, Classified as _, Retry};
use crate::safety::{EffectKind, Initiator};

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

fn freeze(text: &str) -> Freeze {
    Freeze { reason: Reason::Requested, since: NOW, source: "ConfigMap".into(), text: text.into() }
}

fn object(kind: &'static str, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef { kind, key: ObjectKey::new(namespace, name) }
}

/// A Machine, its set and its deployment.
fn lineage() -> Vec<ObjectRef> {
    vec![
        object("Machine", "prod", "web-1"),
        object("MachineSet", "prod", "web-a"),
        object("MachineDeployment", "prod", "web"),
    ]
}

fn scopes() -> Vec<(Scope, bool)> {
    let mut scopes = vec![
        (Scope::Cluster, true),
        (Scope::Namespace("prod".into()), true),
        (Scope::Namespace("test".into()), false),
        (Scope::Object(object("MachineSet", "prod", "web")), false),
        (Scope::Object(object("MachineDeployment", "test", "web")), false),
        (Scope::Object(object("Machine", "prod", "web-2")), false),
    ];
    scopes.extend(lineage().into_iter().map(|one| (Scope::Object(one), true)));
    scopes
}

fn permitted(ledger: &Ledger, kind: EffectKind) -> bool {
    permit(&Effect { kind, initiator: Initiator::User, lineage: lineage() }, ledger).is_ok()
}

#[test]
fn freeze_stops_what_its_scope_covers_and_nothing_else() {
    for (scope, covers) in scopes() {
        for kind in EffectKind::ALL {
            let mut ledger = Ledger::default();
            assert!(permitted(&ledger, kind));
            ledger.begin(scope.clone(), freeze(""));
            assert_eq!(permitted(&ledger, kind), !covers, "{scope:?} {kind:?}");
        }
    }
}

/// Every order of beginnings and ends of three freezes: after one is in the ledger, no effect that it forbids passes
/// until it is taken out, whatever begins or ends beside it.
#[test]
fn no_forbidden_effect_passes_in_any_history() {
    let all: Vec<_> = scopes().into_iter().filter(|(scope, _)| scope.reaches("prod")).collect();
    for first in &all {
        for second in &all {
            explore(&[first.clone(), second.clone()]);
        }
    }
}

fn explore(scopes: &[(Scope, bool); 2]) {
    // Each step toggles one of the two freezes.
    for history in 0..64_u32 {
        let (mut ledger, mut in_force) = (Ledger::default(), [false; 2]);
        for step in 0..6 {
            let which = usize::from(history & (1 << step) != 0);
            let same = scopes[0].0 == scopes[1].0;
            let (scope, on) = (scopes[which].0.clone(), !in_force[which]);
            if on {
                ledger.begin(scope, freeze("x"));
            } else {
                ledger.end(scope, Reason::Requested);
            }
            in_force[which] = on;
            if same {
                in_force = [on; 2];
            }
            let frozen = (0..2).any(|at| in_force[at] && scopes[at].1);
            for kind in EffectKind::ALL {
                assert_eq!(permitted(&ledger, kind), !frozen, "{scopes:?} {history:b} {step}");
            }
        }
    }
}

#[test]
fn repeated_freeze_keeps_its_time_and_reports_no_change() {
    let mut ledger = Ledger::default();
    let later = NOW + jiff::SignedDuration::from_secs(60);
    assert!(ledger.begin(Scope::Cluster, freeze("a")));
    assert!(!ledger.begin(Scope::Cluster, Freeze { since: later, ..freeze("a") }));
    assert!(ledger.begin(Scope::Cluster, Freeze { since: later, ..freeze("b") }));
    assert_eq!(ledger.all().map(|(_, freeze)| freeze.since).collect::<Vec<_>>(), [NOW]);
    assert!(ledger.end(Scope::Cluster, Reason::Requested));
    assert!(!ledger.end(Scope::Cluster, Reason::Requested));
    assert!(ledger.is_empty());
}

/// Most Nodes are silent: only what a controller decides by itself, and what takes machines away, is stopped.
#[test]
fn silent_nodes_stop_removals_that_controllers_decide() {
    let mut ledger = Ledger::default();
    ledger.begin(Scope::Cluster, Freeze { reason: Reason::NodesNotReady, ..freeze("6 of 10") });
    for initiator in Initiator::ALL {
        for kind in EffectKind::ALL {
            let removes =
                matches!(kind, EffectKind::Delete | EffectKind::Evict | EffectKind::CloudDelete);
            let stopped = removes && initiator == Initiator::Controller;
            let effect = Effect { kind, initiator, lineage: lineage() };
            assert_eq!(permit(&effect, &ledger).is_err(), stopped, "{kind:?} {initiator:?}");
        }
    }
}

#[test]
fn freeze_that_stops_most_is_reported_first() {
    let mut ledger = Ledger::default();
    ledger.begin(Scope::Cluster, Freeze { reason: Reason::NodesNotReady, ..freeze("6 of 10") });
    ledger.begin(Scope::Namespace("prod".into()), freeze("a"));
    let lineage = lineage();
    let found: Vec<_> = ledger.on(&lineage).map(|(_, freeze)| freeze.reason).collect();
    assert_eq!(found, [Reason::Requested, Reason::NodesNotReady]);
}

#[test]
fn widest_freeze_is_reported_first() {
    let mut ledger = Ledger::default();
    for (scope, _) in scopes().into_iter().rev() {
        ledger.begin(scope, freeze(""));
    }
    let lineage = lineage();
    let found: Vec<_> = ledger.on(&lineage).map(|(scope, _)| scope.level()).collect();
    assert_eq!(found, ["cluster", "namespace", "object", "object", "object"]);
}

#[test]
fn refusal_waits_for_a_change_and_is_no_error_of_its_object() {
    let mut ledger = Ledger::default();
    ledger.begin(Scope::Cluster, freeze("network work"));
    let (kind, initiator) = (EffectKind::CloudCreate, Initiator::User);
    let effect = Effect { kind, initiator, lineage: lineage() };
    let failure = permit(&effect, &ledger).unwrap_err().failure();
    assert_eq!(failure.category, Category::Frozen);
    assert!(!failure.category.needs_attention());
    assert!(matches!(failure.retry, Retry::After(_)));
    let text = "not sent (create in the cloud): frozen by the ConfigMap: network work";
    assert_eq!(failure.message, text);
}
