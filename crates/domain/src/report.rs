//! What a pass over an object has to say: Events, a result for the metrics, and when to come back.
//!
//! A report is data. The driver in `runtime` writes it, so that `report` stays pure.

use crate::retry::Retry;

/// The reasons that machinist's Events carry. People write alerts on them: none is renamed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventReason {
    /// A machine that nobody managed has a manager now.
    Adopted,
    /// Annotations were written for the first time, or say something else now.
    Annotated,
    /// Somebody had written a processor architecture that is not the machine's.
    ArchitectureReplaced,
    /// The cloud could not be asked, so the built-in catalogue answered.
    CatalogueUsed,
    /// An instance was created.
    Create,
    /// A creation takes longer than it should, and goes on.
    CreationTimedOut,
    /// An instance is gone, as it was to be.
    Delete,
    /// A hook keeps a drain from beginning.
    DrainBlocked,
    /// A drain ended without everything being gone: nobody is waited for any longer.
    DrainForced,
    /// A drain begins to move pods.
    DrainProceeds,
    /// Something is in the way of a drain; it goes on.
    DrainRequeued,
    /// There is nothing to drain, or it is not wanted.
    DrainSkipped,
    /// The node is empty.
    DrainSucceeded,
    /// Something could not be created.
    FailedCreate,
    /// Something could not be deleted.
    FailedDelete,
    /// The instance type is not known, so the object is left as it was.
    FailedUpdate,
    /// The object is not valid.
    FailedValidate,
    /// A machine failed for good.
    MachineFailed,
    /// It is not clear which Machine a Node belongs to.
    NodeNotLinked,
    /// The object or something that it refers to is not valid, or the cloud could not be asked.
    ReconcileError,
    /// A node group has had too many events, and its recycle begins.
    RecycleBegins,
    /// A node group was not recycled, or not to the end.
    RecycleFailed,
    /// The recycle of a node group has come a step further.
    RecycleProceeds,
    /// A node group cannot be recycled as it is.
    RecycleRefused,
    /// A node group was recycled.
    Recycled,
    /// A machine that is not selected any more has no manager now.
    Released,
    /// Machines were created or deleted, because another number of them is wanted than there was.
    Scaled,
    /// An instance was repaired in place.
    Update,
    /// Somebody set a value by hand that is not what we would say; it is left.
    UserValueKept,
    /// A node group would be recycled if this were no dry run.
    WouldRecycle,
}

impl EventReason {
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

    /// The reason as Events carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopted => "Adopted",
            Self::Annotated => "Annotated",
            Self::ArchitectureReplaced => "ArchitectureReplaced",
            Self::CatalogueUsed => "CatalogueUsed",
            Self::Create => "Create",
            Self::CreationTimedOut => "CreationTimedOut",
            Self::Delete => "Delete",
            Self::DrainBlocked => "DrainBlocked",
            Self::DrainForced => "DrainForced",
            Self::DrainProceeds => "DrainProceeds",
            Self::DrainRequeued => "DrainRequeued",
            Self::DrainSkipped => "DrainSkipped",
            Self::DrainSucceeded => "DrainSucceeded",
            Self::FailedCreate => "FailedCreate",
            Self::FailedDelete => "FailedDelete",
            Self::FailedUpdate => "FailedUpdate",
            Self::FailedValidate => "FailedValidate",
            Self::MachineFailed => "Failed",
            Self::NodeNotLinked => "NodeNotLinked",
            Self::ReconcileError => "ReconcileError",
            Self::RecycleBegins => "RecycleBegins",
            Self::RecycleFailed => "RecycleFailed",
            Self::RecycleProceeds => "RecycleProceeds",
            Self::RecycleRefused => "RecycleRefused",
            Self::Recycled => "Recycled",
            Self::Released => "Released",
            Self::Scaled => "Scaled",
            Self::Update => "Update",
            Self::UserValueKept => "UserValueKept",
            Self::WouldRecycle => "WouldRecycle",
        }
    }
}

/// Whether an Event tells of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventType {
    /// The type as Events carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An Event to be written about the object of the pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// Trouble or not.
    pub event_type: EventType,
    /// Why, in one word.
    pub reason: EventReason,
    /// What was being done, in one word.
    pub action: &'static str,
    /// For people.
    pub note: String,
}

/// How a pass ended, as the metric `machinist_reconcile_total` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PassResult {
    /// Nothing to do.
    Settled,
    /// Somebody else's answer is on its way.
    Waiting,
    /// Something was written.
    Changed,
    /// The object is bad; waiting for an edit.
    Refused,
    /// Something went wrong that a retry may mend.
    Failed,
}

impl PassResult {
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

/// What a pass over an object has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// For the metrics.
    pub result: PassResult,
    /// What is to be changed in the object's status, as a merge patch of the status alone; `None` where it is right already.
    pub status: Option<serde_json::Value>,
    /// For people who look at the object.
    pub events: Vec<EventNote>,
    /// When to come back; `None` means at the next change or resync.
    pub retry: Option<Retry>,
}

impl Report {
    /// A report with nothing to tell but its result.
    pub fn quiet(result: PassResult) -> Self {
        Self { result, status: None, events: Vec::new(), retry: None }
    }
}
