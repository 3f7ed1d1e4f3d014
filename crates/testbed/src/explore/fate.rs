/// What happens to a call in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Fine,
    /// It is not executed, and the client gets an error.
    Refused,
    /// It is executed, and the client gets no answer.
    AnswerLost,
    /// It is executed after the client has given up, or never.
    Late,
}

impl Fate {
    pub const ALL: [Self; 4] = [Self::Fine, Self::Refused, Self::AnswerLost, Self::Late];

    /// What it costs of a world's faults.
    pub fn cost(self) -> u8 {
        u8::from(matches!(self, Self::AnswerLost | Self::Late))
    }
}
