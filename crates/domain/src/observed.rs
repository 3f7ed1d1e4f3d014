//! An observation of something outside of the process. "Could not be observed" is never treated as "does not exist".

use crate::retry::Failure;

/// What is known of something that has to be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Observed<T, E = Failure> {
    /// Not requested yet, or the answer is still pending.
    #[default]
    NotAsked,
    /// The request failed: it may exist or not.
    Unknown(E),
    /// It does not exist.
    Absent,
    /// It exists.
    Present(T),
}

impl<T, E> Observed<T, E> {
    /// The value, if it exists.
    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            Self::NotAsked | Self::Unknown(_) | Self::Absent => None,
        }
    }
}

/// A finished request: an error is unknown, `None` is absent.
impl<T, E> From<Result<Option<T>, E>> for Observed<T, E> {
    fn from(answer: Result<Option<T>, E>) -> Self {
        match answer {
            Ok(Some(value)) => Self::Present(value),
            Ok(None) => Self::Absent,
            Err(failure) => Self::Unknown(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_request_is_unknown_and_not_absent() {
        let failed = Observed::<u8, _>::from(Err("timeout"));
        assert_eq!(failed, Observed::Unknown("timeout"));
        assert_eq!(failed.present(), None);
        let absent = Observed::<u8, &str>::from(Ok(None));
        assert_eq!(absent, Observed::Absent);
        assert_eq!(Observed::<_, &str>::from(Ok(Some(2))).present(), Some(&2));
    }
}
