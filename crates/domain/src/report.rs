//! What a reconcile reports, as data. The driver in `runtime` carries it out, so `report` stays pure.

use machinist_api::resource::Resource;

use crate::meta::Meta;
use crate::retry::{Failure, Retry};

machinist_api::named_enum! {
    /// The reasons of machinist's Events. Alerts depend on them: none is renamed or reused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EventReason {
        Adopted,
        Annotated,
        ArchitectureReplaced,
        CanaryPassed,
        CatalogueUsed,
        Create,
        CreationTimedOut,
        Delete,
        DetectedUnhealthy,
        DrainBlocked,
        DrainForced,
        DrainProceeds,
        DrainRequeued,
        DrainSkipped,
        DrainSucceeded,
        ExternalAnnotationAdded,
        ExternalAnnotationFailed,
        FailedCreate,
        FailedDelete,
        FailedUpdate,
        FailedValidate,
        FreezeEnded,
        Frozen,
        HealthChecksOverlap,
        InvalidConfiguration,
        MachineDeleted,
        MachineDeletionFailed,
        MachineFailed = "Failed",
        MachinesNotReady,
        NodeMissing,
        NodeNotLinked,
        PreservationEnded,
        Preserved,
        ReconcileError,
        RecycleBegins,
        RecycleFailed,
        RecycleProceeds,
        RecycleRefused,
        Recycled,
        Released,
        RemediationEnded,
        RemediationHeld,
        RemediationRequestFailed,
        RemediationRequested,
        RemediationRestricted,
        RemediationUnavailable,
        RetryLimitReached,
        RolloutAborted,
        Scaled,
        SkippedNoController,
        Update,
        UserValueKept,
        WouldRecycle,
    }
}

machinist_api::named_enum! {
    /// The type of an Event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EventType {
        Normal,
        Warning,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    pub event_type: EventType,
    pub reason: EventReason,
    /// The action that was taken or failed, one word.
    pub action: &'static str,
    pub note: String,
    /// The object, if it is not the one that is reconciled.
    pub about: Option<Box<(Resource, Meta)>>,
}

impl EventNote {
    pub fn normal(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason, action, note: note.into(), about: None }
    }

    pub fn warning(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Warning, reason, action, note: note.into(), about: None }
    }

    /// The same about another object.
    #[must_use]
    pub fn about(self, resource: Resource, meta: &Meta) -> Self {
        Self { about: Some(Box::new((resource, meta.clone()))), ..self }
    }
}

machinist_api::named_enum! {
    /// How a reconcile ended, the label `result` of `machinist_reconcile_total`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ReconcileResult {
        Settled = "settled",
        /// Waiting for a pending answer.
        Waiting = "waiting",
        Changed = "changed",
        /// The object is invalid; waiting for a change.
        Refused = "refused",
        /// A failure that will be retried.
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub result: ReconcileResult,
    /// A merge patch of the status; `None` if it is up to date.
    pub status: Option<serde_json::Value>,
    pub events: Vec<EventNote>,
    /// When to requeue; `None` means at the next change or resync.
    pub retry: Option<Retry>,
}

impl Report {
    pub fn quiet(result: ReconcileResult) -> Self {
        Self { result, status: None, events: Vec::new(), retry: None }
    }

    /// A failed write. A conflict or a lost lease is part of the protocol; a rejected write needs attention.
    pub fn failed(failure: &Failure, event: EventNote) -> Self {
        let events = failure.category.needs_attention().then_some(event).into_iter().collect();
        Self { events, retry: Some(failure.retry), ..Self::quiet(ReconcileResult::Failed) }
    }
}
