use machinist_api::resource::MACHINE_SETS;

use super::*;
use crate::clock::ManualClock;
use crate::writer::Behalf;

fn freezes() -> (Freezes, Arc<Metrics>) {
    let metrics = Arc::<Metrics>::default();
    (Freezes::for_tests(Arc::new(ManualClock::default()), &metrics), metrics)
}

fn object(kind: &'static str, name: &str) -> ObjectRef {
    ObjectRef { kind, key: ObjectKey::new("ns", name) }
}

fn asked() -> (Arc<str>, Arc<str>) {
    ("annotation".into(), "network work".into())
}

#[test]
fn freeze_of_an_owner_covers_what_it_owns() {
    let (freezes, _) = freezes();
    let machine = object("Machine", "web-1");
    let parents: [(&'static str, &'static str, &'static str); 2] =
        [("Machine", MACHINE_SETS.kind, "web-a"), ("MachineSet", "MachineDeployment", "web")];
    for (kind, parent, name) in parents {
        let find: Parent = Box::new(move |_| Some(object(parent, name)));
        freezes.parents.write().insert(kind, find);
    }
    let frozen = || freezes.permit(EffectKind::Delete, Initiator::User, &machine).is_err();
    for owner in [object("MachineSet", "web-a"), object("MachineDeployment", "web")] {
        assert!(!frozen());
        freezes.put(&Scope::Object(owner.clone()), Reason::Requested, Some(asked()));
        assert!(frozen() && freezes.of(&machine).is_some(), "{owner}");
        freezes.put(&Scope::Object(owner), Reason::Requested, None);
    }
    freezes.put(
        &Scope::Object(object("MachineDeployment", "other")),
        Reason::Requested,
        Some(asked()),
    );
    assert!(!frozen() && freezes.of(&machine).is_none());
}

#[test]
fn change_of_another_object_is_stopped_by_the_freezes_of_both() {
    let (freezes, _) = freezes();
    let (freezes, check) = (Arc::new(freezes), object("MachineHealthCheck", "check"));
    let machine = object("Machine", "web-1");
    let both = Behalf::of(&freezes, check.clone()).and(machine.clone());
    assert!(both.permit(EffectKind::Delete).is_ok());
    for frozen in [check.clone(), machine] {
        freezes.put(&Scope::Object(frozen.clone()), Reason::Requested, Some(asked()));
        assert!(both.permit(EffectKind::Delete).is_err(), "{frozen}");
        assert_eq!(both.freeze().is_some(), frozen == check, "only its own is shown on the check");
        freezes.put(&Scope::Object(frozen), Reason::Requested, None);
    }
}

#[test]
fn metric_counts_the_freezes_of_each_scope() {
    let (freezes, metrics) = freezes();
    let shown = |scope: &str, count: u8| {
        let line = format!(r#"machinist_frozen{{reason="Requested",scope="{scope}"}} {count}"#);
        metrics.encode(&[]).unwrap().contains(&line)
    };
    freezes.put(&Scope::Cluster, Reason::Requested, Some(asked()));
    freezes.put(&Scope::Cluster, Reason::Requested, Some(asked()));
    for name in ["a", "b"] {
        freezes.put(&Scope::Namespace(name.into()), Reason::Requested, Some(asked()));
    }
    assert!(shown("cluster", 1) && shown("namespace", 2));
    freezes.put(&Scope::Cluster, Reason::Requested, None);
    freezes.put(&Scope::Namespace("a".into()), Reason::Requested, None);
    assert!(shown("cluster", 0) && shown("namespace", 1));
}

#[test]
fn process_without_controllers_that_obey_has_no_line_in_readyz() {
    assert!(freezes().0.describe().is_none());
}
