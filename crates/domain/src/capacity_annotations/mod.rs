//! The scale-from-zero annotations for cluster-autoscaler, for the controller and for `machinist annotate`.
//!
//! Invariants: a second assessment changes nothing; keys and pairs of users are kept; order is no difference. The
//! marker ([`names::ANNOTATION_ANNOTATED`]), written in the same patch, lists the values that are ours. OpenShift's
//! three keys and the architecture are always ours.

mod current;
mod marker;
mod wanted;

use machinist_api::names;

pub use self::current::Current;
use self::marker::Marker;
use crate::annotations::AnnotationChange;
use crate::labels;
use crate::shape::{Capacity, Shape};

/// What to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Which families of keys.
    pub families: Families,
    /// The maximum number of pods.
    pub max_pods: MaxPods,
    /// Whether to overwrite capacity keys that a user set.
    pub overwrite: bool,
    /// Whether only the architecture is written into the labels, because another annotator reorders longer lists.
    pub arch_only_labels: bool,
}

/// The consumer of the annotations. Both read the architecture in the labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Families {
    /// OpenShift's cluster-autoscaler-operator: exactly four keys.
    OpenShift,
    /// Upstream's cluster-autoscaler.
    Upstream,
    /// Both.
    #[default]
    Both,
}

impl Families {
    fn openshift(self) -> bool {
        self != Self::Upstream
    }

    fn upstream(self) -> bool {
        self != Self::OpenShift
    }
}

/// The maximum number of pods of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MaxPods {
    /// Not written; cluster-autoscaler assumes 110.
    #[default]
    Off,
    /// Derived from the addresses of the network interfaces, if known.
    Eni,
    Number(u32),
}

/// The result for one MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    /// What to write; empty if all is up to date.
    pub change: AnnotationChange,
    /// Keys with a user's value that differs from ours; they are kept.
    pub kept: Vec<&'static str>,
    /// Those of them that were not reported yet.
    pub newly_kept: Vec<&'static str>,
    /// A wrong architecture that is replaced.
    pub contradicted_architecture: Option<String>,
}

/// Compares the existing annotations with the wanted ones.
pub fn assess(
    current: &Current,
    shape: &Shape,
    capacity: &Capacity,
    options: Options,
) -> Assessment {
    let old_marker = current.get(names::ANNOTATION_ANNOTATED);
    let marker = Marker::read(old_marker);
    let mut new_marker = marker::PREFIX.to_owned();
    let mut assessment = Assessment::default();
    let mut kept = Vec::new();

    for (name, value) in wanted::keys(shape, capacity, options) {
        let (now, short) = (current.get(name), marker::short(name));
        let was_ours = now.is_some() && now == marker.wrote(short);
        let Some(value) = value else {
            if was_ours {
                assessment.change.remove(name, now);
            }
            continue;
        };
        if now.is_none() || was_ours || wanted::is_always_ours(name) || options.overwrite {
            assessment.change.want(name, now, &value);
            marker::add(&mut new_marker, short, &value);
        } else if now != Some(&*value) && marker != Marker::Newer {
            kept.push(short);
            assessment.kept.push(name);
            if !marker.reported_kept(short) {
                assessment.newly_kept.push(name);
            }
        }
    }

    let list = current.get(names::ANNOTATION_CAPACITY_LABELS);
    let mut pairs = labels::parse(list.unwrap_or(""));
    let mut changed = false;
    for (name, value) in wanted::labels(shape, capacity, options) {
        let (now, short) = (pairs.get(name).copied(), marker::short(name));
        let was_ours = now.is_some() && now == marker.wrote(short);
        let Some(value) = value else {
            if was_ours {
                pairs.remove(name);
                changed = true;
            }
            continue;
        };
        // The architecture is a fact; users may override all others.
        let is_architecture = name == names::LABEL_ARCH;
        if now.is_none() || was_ours || is_architecture {
            if now != Some(value) {
                pairs.insert(name, value);
                changed = true;
                if is_architecture && !was_ours {
                    assessment.contradicted_architecture = now.map(ToOwned::to_owned);
                }
            }
            marker::add(&mut new_marker, short, value);
        }
    }
    if changed {
        let merged = labels::join(&pairs);
        assessment.change.want(names::ANNOTATION_CAPACITY_LABELS, list, &merged);
    }

    if !kept.is_empty() {
        marker::add(&mut new_marker, marker::KEPT, &kept.join("/"));
    }
    if marker != Marker::Newer || options.overwrite {
        if options.families.upstream() {
            assessment.change.want(names::ANNOTATION_ANNOTATED, old_marker, &new_marker);
        } else {
            assessment.change.remove(names::ANNOTATION_ANNOTATED, old_marker);
        }
    }
    assessment
}

#[cfg(test)]
mod tests;
