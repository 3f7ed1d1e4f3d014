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
    /// The connection is closed; the write lands after the subject has written something else, or after two seconds.
    LandLate,
    /// The subject dies; the write lands after the first write of its successor, or, if that writes nothing, two
    /// seconds after its first request.
    DieAndLandLate,
    /// As `LoseAnswer`, and what the subject reads next fails, lists and starts of watches included.
    FailReads,
}

impl Fault {
    pub const ALL: [Self; 10] = [
        Self::DieBefore,
        Self::DieAfter,
        Self::LoseAnswer,
        Self::Conflict409,
        Self::TooMany429,
        Self::Error500,
        Self::Timeout,
        Self::LandLate,
        Self::DieAndLandLate,
        Self::FailReads,
    ];

    pub const fn is_deadly(self) -> bool {
        matches!(self, Self::DieBefore | Self::DieAfter | Self::DieAndLandLate)
    }

    pub(super) const fn lands_late(self) -> bool {
        matches!(self, Self::LandLate | Self::DieAndLandLate)
    }

    /// A sample has fewer of these: a run with one of them takes longer.
    pub(super) const fn is_rare(self) -> bool {
        self.lands_late() || matches!(self, Self::FailReads)
    }

    /// A deadly fault parks the write at the gate, which is where the subject is killed.
    pub(super) fn effect(self, gate: &Gate) -> Effect {
        match self {
            Self::DieBefore => Effect::Hold(gate.clone()),
            Self::DieAfter => Effect::HoldAfter(gate.clone()),
            Self::LoseAnswer | Self::FailReads => Effect::LoseAnswer,
            Self::Conflict409 => Effect::answer(409),
            Self::TooMany429 => Effect::too_many_requests(1),
            Self::Error500 => Effect::answer(500),
            Self::Timeout => Effect::Timeout,
            Self::LandLate => Effect::LandLate { gate: gate.clone(), hangs: false },
            Self::DieAndLandLate => Effect::LandLate { gate: gate.clone(), hangs: true },
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
            Self::LandLate => "do it later than the next write",
            Self::DieAndLandLate => "die and do it after the successor's first write",
            Self::FailReads => "do it, lose the answer and fail the next reads",
        })
    }
}
