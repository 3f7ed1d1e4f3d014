//! What happens, from a seed; plain data that can be printed.

use std::fmt;
use std::time::Duration;

use machinist_provider_sim::server::{Modes, Trouble};

/// How many machines are wanted at most.
const LARGEST: usize = 8;
const STEPS: usize = 16;

/// What happens, in order.
pub(super) struct Story {
    pub(super) seed: u64,
    pub(super) steps: Vec<Step>,
    /// What the cloud refuses in the last act, before all is well again.
    pub(super) refusal: Weather,
    /// How many machines are wanted in the end.
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// So many machines are wanted.
    Scale(usize),
    /// A user deletes a machine: the n-th of those that exist.
    Delete(usize),
    /// The process is killed, and another one is started.
    Crash,
    /// Watch events are delayed by this much.
    LateWatches(Duration),
    /// All connections are closed.
    CutConnections,
    /// Some writes are carried out, to the API server or to the cloud, and the answer is lost.
    LoseAnswers { after: u32, times: u32 },
    /// Some writes are answered with an error.
    Refuse { code: u16, after: u32, times: u32 },
    /// The cloud behaves like this from now on.
    Cloud(Weather),
    /// Nothing, for a while.
    Pause(Duration),
}

/// How the cloud behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    Fine,
    /// It takes so many calls in a second.
    FewCalls(u32),
    /// Of a thousand answers to changes, so many are lost.
    LosesAnswers(u32),
    /// New instances are not shown for so many milliseconds of its time.
    Hides(u64),
    /// Answers to creations come so many milliseconds of its time late.
    Late(u64),
    /// There is no room.
    Full,
    /// Every call meets this.
    Trouble(Trouble),
}

impl Weather {
    pub(super) fn modes(self) -> Modes {
        let mut modes = Modes::default();
        match self {
            Self::Fine => {}
            Self::FewCalls(calls) => modes.calls_per_second = Some(calls),
            Self::LosesAnswers(share) => modes.lost_per_mille = share,
            Self::Hides(millis) => modes.hidden_millis = millis,
            Self::Late(millis) => modes.create_answer_delay_millis = millis,
            Self::Full => modes.full_zones = ["a".to_owned()].into(),
            Self::Trouble(trouble) => modes.trouble = Some(trouble),
        }
        modes
    }

    /// The reason that a Machine reports for it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Full => "CapacityExhausted",
            Self::Trouble(Trouble::Throttled) => "Throttled",
            Self::Trouble(Trouble::Unauthorised) => "Unauthorised",
            _ => "Unavailable",
        }
    }
}

impl Story {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut steps = vec![Step::Scale(dice.usize(2..=LARGEST))];
        for _ in 0..STEPS {
            steps.push(step(&mut dice));
            steps.push(Step::Pause(Duration::from_millis(dice.u64(20..700))));
        }
        let troubles = [Trouble::Throttled, Trouble::Unauthorised, Trouble::Unavailable];
        let refusal = match dice.choice(troubles) {
            Some(trouble) if dice.bool() => Weather::Trouble(trouble),
            _ => Weather::Full,
        };
        Self { seed, steps, refusal, end: dice.usize(1..=LARGEST) }
    }
}

fn step(dice: &mut fastrand::Rng) -> Step {
    match dice.u32(0..20) {
        0..=4 => Step::Scale(dice.usize(0..=LARGEST)),
        5..=6 => Step::Delete(dice.usize(0..LARGEST)),
        7..=8 => Step::Crash,
        9..=10 => Step::LateWatches(Duration::from_millis(dice.u64(100..1500))),
        11 => Step::CutConnections,
        12..=13 => Step::LoseAnswers { after: dice.u32(0..6), times: dice.u32(1..4) },
        14 => {
            let code = dice.choice([409, 429, 500, 503]).unwrap_or(500);
            Step::Refuse { code, after: dice.u32(0..6), times: dice.u32(1..4) }
        }
        _ => Step::Cloud(weather(dice)),
    }
}

fn weather(dice: &mut fastrand::Rng) -> Weather {
    match dice.u32(0..8) {
        0 => Weather::Fine,
        // The second is one of the cloud's, which has many in one of ours.
        1 => Weather::FewCalls(dice.u32(0..2)),
        2 => Weather::LosesAnswers(dice.u32(100..700)),
        // Shorter than the time after which one that is not shown is believed to be gone.
        3 => Weather::Hides(dice.u64(1_000..20_000)),
        4 => Weather::Late(dice.u64(1_000..20_000)),
        5 => Weather::Full,
        _ => {
            let troubles =
                [Trouble::Throttled, Trouble::Unavailable, Trouble::Silence, Trouble::Nonsense];
            Weather::Trouble(dice.choice(troubles).unwrap_or(Trouble::Silence))
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "  {step:?}")?;
        }
        writeln!(f, "  in the end the cloud has {:?}, then {} are wanted", self.refusal, self.end)
    }
}
