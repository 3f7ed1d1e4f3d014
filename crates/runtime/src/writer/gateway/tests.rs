use machinist_api::resource::{MACHINE_SETS, MACHINES, NODES};
use machinist_domain::safety::ObjectRef;
use parking_lot::Mutex;
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::*;
use crate::clock::ManualClock;
use crate::cluster::Cluster;
use crate::freezes::Freezes;
use crate::timings::Timings;
use crate::user_agent::UserAgent;

/// The levels of the audit lines.
#[derive(Clone, Default)]
struct AuditLevels(Arc<Mutex<Vec<Level>>>);

impl Subscriber for AuditLevels {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() == "audit" {
            self.0.lock().push(*event.metadata().level());
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// They are written every few seconds.
#[tokio::test]
async fn renewals_of_leases_are_logged_at_debug_level() {
    let lines = AuditLevels::default();
    let _subscriber = tracing::subscriber::set_default(lines.clone());
    let timings = Timings::default();
    let gateway = Gateway::new(true, timings.cloud_call, Arc::default());
    let session = Cluster::nowhere(&timings).session(UserAgent::START);
    let key = ObjectKey::new("ns", "a");
    let sender = Sender { party: "test", leadership: &Leadership::NotNeeded, freeze: None };
    for (resource, level) in [(LEASES, Level::DEBUG), (MACHINES, Level::INFO)] {
        let write = Write::whole(Verb::Replace, resource, &key, &Value::Null);
        let sent = gateway.send(&session, sender, &write, &"renew").await;
        assert!(sent.is_ok_and(|answer| answer.is_none()), "a dry run sends nothing");
        assert_eq!(*lines.0.lock(), [level], "{}", resource.kind);
        lines.0.lock().clear();
    }
}

fn behalf(frozen: bool) -> Behalf {
    let freezes = Arc::new(Freezes::for_tests(Arc::new(ManualClock::default()), &Arc::default()));
    if frozen {
        freezes.begin_for_tests("network work");
    }
    let object = ObjectRef { kind: MACHINE_SETS.kind, key: ObjectKey::new("ns", "set") };
    Behalf::of(&freezes, object)
}

/// Only what records the state passes. Nothing answers here, so what is sent fails otherwise.
#[tokio::test]
async fn freeze_stops_every_write_that_is_no_record() {
    let timings = Timings { request: Duration::from_millis(50), ..Timings::default() };
    let gateway = Gateway::new(false, timings.cloud_call, Arc::default());
    let session = Cluster::nowhere(&timings).session(UserAgent::START);
    let key = ObjectKey::new("ns", "a");
    let status = Some(Subresource::Status);
    for (verb, resource, part, stopped) in [
        (Verb::Create, MACHINES, None, true),
        (Verb::Delete, MACHINES, None, true),
        (Verb::MergePatch, MACHINE_SETS, None, true),
        (Verb::MergePatch, NODES, None, true),
        (Verb::Create, PODS, Some(Subresource::Eviction), true),
        (Verb::Delete, PODS, None, true),
        (Verb::MergePatch, MACHINE_SETS, status, false),
        (Verb::Create, EVENTS, None, false),
        (Verb::Create, CORE_EVENTS, None, false),
        (Verb::Replace, LEASES, None, false),
    ] {
        for frozen in [true, false] {
            let behalf = behalf(frozen);
            let write = Write { part, ..Write::whole(verb, resource, &key, &Value::Null) };
            let freeze = write.effect().map(|effect| (&behalf, effect));
            let sender = Sender { party: "test", leadership: &Leadership::NotNeeded, freeze };
            let error = gateway.send(&session, sender, &write, &"test").await.unwrap_err();
            assert_eq!(error.is_frozen(), frozen && stopped, "{verb:?} {resource} {part:?}");
            assert_eq!(behalf.refusal().is_some(), frozen && stopped);
            if error.is_frozen() {
                assert!(
                    !error.may_have_happened() && !error.leaves_uncertain() && error.is_ordinary()
                );
            }
        }
    }
}
