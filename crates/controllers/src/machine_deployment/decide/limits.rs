//! The limits of RollingUpdate and Recreate; those of updates in place are in [`in_place`](super::in_place). Pure.

use machinist_api::wire::IntOrText;

use super::super::error::Refusal;
use crate::kinds::MachineDeploymentSpec;

const DEFAULT_SURGE: usize = 1;

/// Whether it is Recreate, then maxSurge and maxUnavailable.
pub(super) fn limits(
    spec: &MachineDeploymentSpec,
    replicas: usize,
) -> Result<(bool, usize, usize), Refusal> {
    match spec.strategy.kind.as_deref() {
        None | Some("" | "RollingUpdate") => {}
        Some("Recreate") => return Ok((true, 0, 0)),
        // Its limits are others.
        Some("InPlaceUpdate") => return Ok((false, 0, 0)),
        Some(other) => return Err(Refusal::Strategy(other.to_owned())),
    }
    let limits = &spec.strategy.rolling_update;
    let surge = Limit::read("rollingUpdate.maxSurge", limits.max_surge.as_ref())?;
    let unavailable = Limit::read("rollingUpdate.maxUnavailable", limits.max_unavailable.as_ref())?;
    let surge = surge.unwrap_or(Limit::Count(DEFAULT_SURGE));
    let unavailable = unavailable.unwrap_or(Limit::Count(0));
    if surge.is_zero() && unavailable.is_zero() {
        return Err(Refusal::NoRoom("rollingUpdate"));
    }
    if let Limit::Percent(percent @ 101..) = unavailable {
        return Err(Refusal::Limit("rollingUpdate.maxUnavailable", format!("{percent}%")));
    }
    match (surge.of(replicas, true), unavailable.of(replicas, false)) {
        // As in Kubernetes: percentages that are rounded to nothing must not stop the rollout.
        (0, 0) => Ok((false, 0, 1)),
        (surge, unavailable) => Ok((false, surge, unavailable)),
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Count(usize),
    Percent(usize),
}

impl Limit {
    pub(super) fn read(
        field: &'static str,
        value: Option<&IntOrText>,
    ) -> Result<Option<Self>, Refusal> {
        let refused = |text: String| Refusal::Limit(field, text);
        Ok(match value {
            None => None,
            Some(IntOrText::Int(number)) => {
                let count =
                    i32::try_from(*number).ok().and_then(|count| usize::try_from(count).ok());
                Some(Self::Count(count.ok_or_else(|| refused(number.to_string()))?))
            }
            Some(IntOrText::Text(text)) => {
                let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<u16>().ok());
                Some(Self::Percent(percent.ok_or_else(|| refused(text.clone()))?.into()))
            }
        })
    }

    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }

    pub(super) fn of(self, replicas: usize, up: bool) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) if up => (replicas * percent).div_ceil(100),
            Self::Percent(percent) => replicas * percent / 100,
        }
    }
}
