//! How many Machines of a MachineDeployment may be replaced for bad health at a time: `spec.remediation.maxInFlight`.
//! As in Cluster API a percentage is one of `spec.replicas` and rounded up, so it is at least one Machine unless there
//! are none, and 0 replaces none. Without the field it is one Machine, where Cluster API has no limit.

use machinist_api::wire::IntOrText;

/// The value of `maxInFlight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxInFlight {
    /// So many Machines.
    Count(usize),
    /// So many in a hundred replicas.
    Percent(usize),
}

impl MaxInFlight {
    /// Without the field.
    pub const DEFAULT: Self = Self::Count(1);

    /// Reads the field. The error is the value that is neither a number from 0 nor a percentage.
    pub fn read(value: Option<&IntOrText>) -> Result<Self, String> {
        let Some(value) = value else { return Ok(Self::DEFAULT) };
        match value {
            IntOrText::Int(number) => {
                let count =
                    i32::try_from(*number).ok().and_then(|count| usize::try_from(count).ok());
                count.map(Self::Count).ok_or_else(|| number.to_string())
            }
            IntOrText::Text(text) => {
                let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<u16>().ok());
                percent.map(|percent| Self::Percent(percent.into())).ok_or_else(|| text.clone())
            }
        }
    }

    /// How many Machines may be in replacement at a time.
    pub fn of(self, replicas: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => replicas.saturating_mul(percent).div_ceil(100),
        }
    }

    /// How many more may be replaced now. `in_flight`: Machines that are replaced for bad health, from the decision
    /// until another one is available.
    pub fn left(self, replicas: usize, in_flight: usize) -> usize {
        self.of(replicas).saturating_sub(in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> IntOrText {
        IntOrText::Text(text.to_owned())
    }

    #[test]
    fn a_budget_follows_from_the_field_the_replicas_and_what_is_in_flight() {
        let int = IntOrText::Int;
        for (value, replicas, in_flight, left) in [
            (None, 10, 0, 1),
            (None, 10, 1, 0),
            (Some(int(0)), 10, 0, 0),
            (Some(int(3)), 10, 1, 2),
            (Some(int(3)), 2, 0, 3),
            (Some(int(1)), 10, 4, 0),
            (Some(text("0%")), 10, 0, 0),
            (Some(text("1%")), 10, 0, 1),
            (Some(text("20%")), 10, 0, 2),
            (Some(text("25%")), 10, 1, 2),
            (Some(text("100%")), 10, 3, 7),
            (Some(text("50%")), 1, 0, 1),
            (Some(text("50%")), 0, 0, 0),
        ] {
            let read = MaxInFlight::read(value.as_ref()).unwrap();
            assert_eq!(
                read.left(replicas, in_flight),
                left,
                "{value:?} of {replicas} − {in_flight}"
            );
        }
    }

    #[test]
    fn other_values_are_refused_as_they_are() {
        for (value, named) in [
            (IntOrText::Int(-1), "-1"),
            (IntOrText::Int(i64::MAX), "9223372036854775807"),
            (text("many"), "many"),
            (text("-5%"), "-5%"),
            (text("5"), "5"),
            (text(""), ""),
        ] {
            assert_eq!(MaxInFlight::read(Some(&value)), Err(named.to_owned()));
        }
    }
}
