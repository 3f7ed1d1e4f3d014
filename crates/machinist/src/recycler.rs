//! Wires the recycler to the provider that has node groups.

use std::sync::Arc;

use machinist_controllers::recycler::{RecyclerTimings, Settings};
use machinist_provider::node_groups::NoGroups;
use machinist_provider::provider::Providers;
use machinist_runtime::controller::start::Shared;

use crate::parts;

pub(crate) fn settings(providers: &Providers, shared: &Arc<Shared>, time_scale: f64) -> Settings {
    let timings = RecyclerTimings::default().scaled(time_scale);
    let parts = parts::of(shared, &timings.machines);
    let groups = providers.iter().find_map(|provider| provider.node_groups(&parts));
    Settings {
        // Without node groups, `status.unmapped` shows why Events have no group.
        groups: groups.unwrap_or_else(|| Arc::new(NoGroups)),
        region: region(),
        own_node: own_node(),
        timings,
    }
}

/// The region of the process, as AWS tools read it.
pub(crate) fn region() -> Option<Arc<str>> {
    ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(variable)
}

/// The Node of the process, set by its manifest.
pub(crate) fn own_node() -> Option<Arc<str>> {
    variable("NODE_NAME")
}

fn variable(name: &str) -> Option<Arc<str>> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(Arc::from)
}
