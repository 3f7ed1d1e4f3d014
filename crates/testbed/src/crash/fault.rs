use std::fmt;

use crate::faults::{Effect, Gate};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// Before the write has reached the API server.
    DieBefore,
    /// The write is carried out, but not answered.
    DieAfter,
    /// As `DieAfter`, but the subject lives on.
    LoseAnswer,
    Conflict409,
    /// 429 with `Retry-After: 1`.
    TooMany429,
    Error500,
    /// Not carried out and never answered.
    Timeout,
}

impl Fault {
    pub const ALL: [Self; 7] = [
        Self::DieBefore,
        Self::DieAfter,
        Self::LoseAnswer,
        Self::Conflict409,
        Self::TooMany429,
        Self::Error500,
        Self::Timeout,
    ];

    pub const fn is_deadly(self) -> bool {
        matches!(self, Self::DieBefore | Self::DieAfter)
    }

    /// A deadly fault parks the write at the gate, which is where the subject is killed.
    pub(super) fn effect(self, gate: &Gate) -> Effect {
        match self {
            Self::DieBefore => Effect::Hold(gate.clone()),
            Self::DieAfter => Effect::HoldAfter(gate.clone()),
            Self::LoseAnswer => Effect::LoseAnswer,
            Self::Conflict409 => Effect::answer(409),
            Self::TooMany429 => Effect::too_many_requests(1),
            Self::Error500 => Effect::answer(500),
            Self::Timeout => Effect::Timeout,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DieBefore => "die before it",
            Self::DieAfter => "do it and die",
            Self::LoseAnswer => "do it and lose the answer",
            Self::Conflict409 => "fail it with 409",
            Self::TooMany429 => "fail it with 429",
            Self::Error500 => "fail it with 500",
            Self::Timeout => "let it time out",
        })
    }
}
