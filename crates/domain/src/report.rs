//! What a reconcile reports, as data. The driver in `runtime` carries it out, so `report` stays pure.

use crate::retry::{Failure, Retry};

/// The reasons of machinist's Events. Alerts depend on them: none is renamed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventReason(&'static str);

#[expect(missing_docs, reason = "docs/guides/troubleshooting.md explains each")]
#[expect(non_upper_case_globals, reason = "named as they are written")]
impl EventReason {
    pub const Adopted: Self = Self("Adopted");
    pub const Annotated: Self = Self("Annotated");
    pub const ArchitectureReplaced: Self = Self("ArchitectureReplaced");
    pub const CatalogueUsed: Self = Self("CatalogueUsed");
    pub const Create: Self = Self("Create");
    pub const CreationTimedOut: Self = Self("CreationTimedOut");
    pub const Delete: Self = Self("Delete");
    pub const DrainBlocked: Self = Self("DrainBlocked");
    pub const DrainForced: Self = Self("DrainForced");
    pub const DrainProceeds: Self = Self("DrainProceeds");
    pub const DrainRequeued: Self = Self("DrainRequeued");
    pub const DrainSkipped: Self = Self("DrainSkipped");
    pub const DrainSucceeded: Self = Self("DrainSucceeded");
    pub const FailedCreate: Self = Self("FailedCreate");
    pub const FailedDelete: Self = Self("FailedDelete");
    pub const FailedUpdate: Self = Self("FailedUpdate");
    pub const FailedValidate: Self = Self("FailedValidate");
    pub const MachineFailed: Self = Self("Failed");
    pub const NodeNotLinked: Self = Self("NodeNotLinked");
    pub const ReconcileError: Self = Self("ReconcileError");
    pub const RecycleBegins: Self = Self("RecycleBegins");
    pub const RecycleFailed: Self = Self("RecycleFailed");
    pub const RecycleProceeds: Self = Self("RecycleProceeds");
    pub const RecycleRefused: Self = Self("RecycleRefused");
    pub const Recycled: Self = Self("Recycled");
    pub const Released: Self = Self("Released");
    pub const Scaled: Self = Self("Scaled");
    pub const Update: Self = Self("Update");
    pub const UserValueKept: Self = Self("UserValueKept");
    pub const WouldRecycle: Self = Self("WouldRecycle");

    /// Every reason, for docs and tests.
    pub const ALL: [Self; 30] = [
        Self::Adopted,
        Self::Annotated,
        Self::ArchitectureReplaced,
        Self::CatalogueUsed,
        Self::Create,
        Self::CreationTimedOut,
        Self::Delete,
        Self::DrainBlocked,
        Self::DrainForced,
        Self::DrainProceeds,
        Self::DrainRequeued,
        Self::DrainSkipped,
        Self::DrainSucceeded,
        Self::FailedCreate,
        Self::FailedDelete,
        Self::FailedUpdate,
        Self::FailedValidate,
        Self::MachineFailed,
        Self::NodeNotLinked,
        Self::ReconcileError,
        Self::RecycleBegins,
        Self::RecycleFailed,
        Self::RecycleProceeds,
        Self::RecycleRefused,
        Self::Recycled,
        Self::Released,
        Self::Scaled,
        Self::Update,
        Self::UserValueKept,
        Self::WouldRecycle,
    ];

    /// The reason in the Event.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// The type of an Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "Kubernetes' names")]
pub enum EventType {
    Normal,
    Warning,
}

impl EventType {
    /// The type in the Event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An Event about the reconciled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// Normal or Warning.
    pub event_type: EventType,
    /// The reason.
    pub reason: EventReason,
    /// The action that was taken or failed, one word.
    pub action: &'static str,
    /// The message.
    pub note: String,
}

impl EventNote {
    /// A Normal Event.
    pub fn normal(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason, action, note: note.into() }
    }

    /// A Warning Event.
    pub fn warning(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Warning, reason, action, note: note.into() }
    }
}

/// How a reconcile ended, the label `result` of `machinist_reconcile_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReconcileResult {
    /// Nothing to do.
    Settled,
    /// Waiting for a pending answer.
    Waiting,
    /// Something was written.
    Changed,
    /// The object is invalid; waiting for a change.
    Refused,
    /// A failure that will be retried.
    Failed,
}

impl ReconcileResult {
    /// The value of the metric's `result` label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Waiting => "waiting",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// What a reconcile reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The result for the metrics.
    pub result: ReconcileResult,
    /// A merge patch of the status; `None` if it is up to date.
    pub status: Option<serde_json::Value>,
    /// Events about the object.
    pub events: Vec<EventNote>,
    /// When to requeue; `None` means at the next change or resync.
    pub retry: Option<Retry>,
}

impl Report {
    /// A report with nothing but its result.
    pub fn quiet(result: ReconcileResult) -> Self {
        Self { result, status: None, events: Vec::new(), retry: None }
    }

    /// A failed write. A conflict or a lost lease is part of the protocol; a rejected write needs attention.
    pub fn failed(failure: &Failure, event: EventNote) -> Self {
        let events = failure.category.needs_attention().then_some(event).into_iter().collect();
        Self { events, retry: Some(failure.retry), ..Self::quiet(ReconcileResult::Failed) }
    }
}
