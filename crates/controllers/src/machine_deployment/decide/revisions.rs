//! Which set has the current template, and its revision. Pure.

use std::sync::Arc;

use machinist_api::names::LABEL_TEMPLATE_HASH;

use super::super::snapshot::View;
use super::super::{revision, template};
use crate::kinds::MachineSet;

/// The set whose hash is that of the current template. Several have it if they leave out different fields: then the
/// one of the highest revision is current, so that an upgrade rolls nothing.
pub(super) fn set_of_template(view: &View) -> Result<Option<usize>, serde_json::Error> {
    let template = &view.deployment.spec.template;
    // The fields that sets leave out rarely differ.
    let mut hashes: Vec<(Option<&str>, String)> = Vec::new();
    let mut found = None;
    for (at, one) in view.sets.iter().enumerate() {
        let fields = one.set.state.hot_fields.as_deref();
        if hashes.iter().all(|(known, _)| *known != fields) {
            hashes.push((fields, template::hash_on(template, fields)?));
        }
        let label = one.set.state.labels.get(LABEL_TEMPLATE_HASH);
        let is_its = |(known, hash): &(Option<&str>, String)| {
            *known == fields && label == Some(hash.as_str())
        };
        if !one.set.meta.deleting && hashes.iter().any(is_its) {
            let rank = revision::rank(one.set.state.revision, one.set.state.spec.replicas);
            // Of equal ones the oldest.
            if found.is_none_or(|(best, _)| rank > best) {
                found = Some((rank, at));
            }
        }
    }
    // So that an unreadable template is refused without sets, too.
    template::hash_on(template, None).map(|_| found.map(|(_, at)| at))
}

/// The revision of the current template is the highest one, also after a rollback. Its set has the change cause of the
/// deployment; without one, it keeps its own. The answer is what is to be stored: on the set, or else on the
/// deployment.
pub(super) fn number(view: &View, new: usize) -> Option<(Option<Arc<MachineSet>>, i64)> {
    let set = &view.sets[new].set;
    let others = newest(view, Some(new));
    let cause = view.deployment.change_cause.as_ref();
    let other_cause = cause.is_some() && cause != set.state.change_cause.as_ref();
    let revision = match set.state.revision {
        Some(revision) if revision > others && !other_cause => revision,
        Some(revision) if revision > others => {
            return Some((Some(Arc::clone(set)), revision));
        }
        _ => return Some((Some(Arc::clone(set)), others + 1)),
    };
    let stored = view.deployment.revision.as_deref();
    (stored != Some(&*revision.to_string())).then_some((None, revision))
}

/// The highest revision, without that of one set. One that cannot be incremented was written by a user, and is ignored.
pub(super) fn newest(view: &View, without: Option<usize>) -> i64 {
    let others = view.sets.iter().enumerate().filter(|(at, _)| Some(*at) != without);
    let revisions = others.filter_map(|(_, one)| one.set.state.revision);
    revisions.filter(|revision| *revision < i64::MAX).max().unwrap_or(0)
}
