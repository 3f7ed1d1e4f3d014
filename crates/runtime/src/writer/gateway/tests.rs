use machinist_api::resource::MACHINES;
use parking_lot::Mutex;
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::*;
use crate::cluster::Cluster;
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
    for (resource, level) in [(LEASES, Level::DEBUG), (MACHINES, Level::INFO)] {
        let write = Write::whole(Verb::Replace, resource, &key, &Value::Null);
        let sent = gateway.send(&session, "test", &Leadership::NotNeeded, &write, &"renew").await;
        assert!(sent.is_ok_and(|answer| answer.is_none()), "a dry run sends nothing");
        assert_eq!(*lines.0.lock(), [level], "{}", resource.kind);
        lines.0.lock().clear();
    }
}
