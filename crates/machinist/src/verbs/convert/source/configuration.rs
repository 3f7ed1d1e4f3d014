use std::time::Duration;

use machinist_provider::fields::{Fields, Level};

use crate::verbs::convert::messages;

/// Timeouts and health of a machine; the defaults are those of machine-controller-manager's flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) creation: String,
    pub(crate) drain: String,
    pub(crate) health: String,
    /// Machinist's default is the same.
    pub(crate) preserve: Option<String>,
    pub(crate) replaces_unhealthy: bool,
    /// Conditions that must not be true.
    pub(crate) conditions: Vec<String>,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            creation: "20m".to_owned(),
            drain: "2h".to_owned(),
            health: "10m".to_owned(),
            preserve: None,
            replaces_unhealthy: true,
            conditions: [
                "KernelDeadlock",
                "ReadonlyFilesystem",
                "DiskPressure",
                "NetworkUnavailable",
            ]
            .map(str::to_owned)
            .into(),
        }
    }
}

impl Configuration {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let default = Self::default();
        fields.refuse("inPlaceUpdateTimeout", messages::IN_PLACE_TIMEOUT);
        fields.refuse("maxEvictRetries", messages::EVICTIONS);
        let conditions = fields.text("nodeConditions").map(|list| {
            let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        });
        Self {
            creation: timeout(fields, "creationTimeout").unwrap_or(default.creation),
            drain: timeout(fields, "drainTimeout").unwrap_or(default.drain),
            health: timeout(fields, "healthTimeout").unwrap_or(default.health),
            preserve: timeout(fields, "preserveTimeout")
                .or_else(|| timeout(fields, "machinePreserveTimeout")),
            replaces_unhealthy: fields.flag("disableHealthTimeout") != Some(true),
            conditions: conditions.unwrap_or(default.conditions),
        }
    }
}

fn timeout(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    let text = fields.text(name)?;
    let duration = read_timeout(&text);
    if duration.is_none() {
        fields.add(Level::Invalid, name, messages::not_a_duration(&text));
    }
    duration
}

/// A duration in Go's format. Here 0 means at once, in machinist it means never.
pub(crate) fn read_timeout(text: &str) -> Option<String> {
    let duration = Duration::try_from(text.parse::<jiff::SignedDuration>().ok()?).ok()?;
    Some(if duration.is_zero() { "1s".to_owned() } else { text.to_owned() })
}
