use machinist_provider::fields::{Fields, Level};
use serde_json::Value;

use super::{Metadata, Set, int_or_percent};
use crate::verbs::convert::messages;

#[derive(Debug, Clone, Default)]
pub(crate) struct Deployment {
    pub(crate) metadata: Metadata,
    /// What a MachineSet has, too.
    pub(crate) set: Set,
    pub(crate) strategy: Strategy,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) progress_deadline_seconds: Option<i32>,
    pub(crate) paused: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Strategy {
    pub(crate) kind: StrategyKind,
    pub(crate) max_surge: Option<Value>,
    pub(crate) max_unavailable: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StrategyKind {
    #[default]
    RollingUpdate,
    Recreate,
    InPlaceUpdate,
}

impl Deployment {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let metadata = Metadata::of_object(fields);
        let spec = fields.object("spec", Self::read_spec).unwrap_or_default();
        Self { metadata, ..spec }
    }

    fn read_spec(spec: &mut Fields<'_>) -> Self {
        spec.refuse("rollbackTo", messages::ROLLBACK);
        let deadline = spec.count("progressDeadlineSeconds");
        Self {
            metadata: Metadata::default(),
            set: Set::read_spec(spec),
            strategy: spec.object("strategy", Strategy::read).unwrap_or_default(),
            revision_history_limit: spec.count("revisionHistoryLimit"),
            progress_deadline_seconds: deadline.filter(|seconds| *seconds > 0),
            paused: spec.flag("paused").unwrap_or(false),
        }
    }
}

impl Strategy {
    fn read(fields: &mut Fields<'_>) -> Self {
        let kind = match fields.text("type").as_deref() {
            None | Some("RollingUpdate") => StrategyKind::RollingUpdate,
            Some("Recreate") => StrategyKind::Recreate,
            Some("InPlaceUpdate") => {
                fields.unsupported("type", messages::IN_PLACE);
                StrategyKind::InPlaceUpdate
            }
            Some(other) => {
                fields.add(Level::Invalid, "type", messages::strategy(other));
                StrategyKind::default()
            }
        };
        let mut strategy = Self { kind, ..Self::default() };
        let used =
            if kind == StrategyKind::InPlaceUpdate { "inPlaceUpdate" } else { "rollingUpdate" };
        for name in ["rollingUpdate", "inPlaceUpdate"] {
            fields.object(name, |limits| {
                limits.ignore(&["orchestrationType"]);
                let surge = int_or_percent(limits, "maxSurge");
                let unavailable = int_or_percent(limits, "maxUnavailable");
                if name == used {
                    strategy.max_surge = surge;
                    strategy.max_unavailable = unavailable;
                }
            });
        }
        strategy
    }
}
