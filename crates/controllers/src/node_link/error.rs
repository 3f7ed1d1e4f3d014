use machinist_domain::key::ObjectKey;

use super::messages;

/// Why a Node cannot be linked until one of the objects changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{}", messages::disputed(.0))]
    Disputed(Vec<ObjectKey>),
    #[error("{}", messages::double(.machine, .others))]
    Double { machine: ObjectKey, others: Vec<ObjectKey> },
}
