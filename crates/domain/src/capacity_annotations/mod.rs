//! The scale-from-zero annotations for cluster-autoscaler. The controller and `machinist annotate` share them.
//!
//! Input: existing annotations ([`Current`]), requested [`Shape`], provided [`Capacity`], [`Options`]. Output: an
//! [`Assessment`]: what to change and what to report.
//!
//! Invariants: a second assessment changes nothing; keys and pairs of users are kept; order is no difference. The
//! marker ([`names::ANNOTATION_ANNOTATED`]), written in the same patch, lists the values that are ours. OpenShift's
//! three keys and the architecture are always ours.

mod current;
mod keys;
mod marker;
mod wanted;

use machinist_api::names;

pub use self::current::Current;
use self::keys::{Key, Label};
use self::marker::{Marker, Record};
use self::wanted::Wanted;
use crate::annotations::AnnotationChange;
use crate::labels;
use crate::shape::{Capacity, Shape};

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Which families of keys.
    pub families: Families,
    /// The maximum number of pods.
    pub max_pods: MaxPods,
    /// Whether to overwrite capacity keys that a user set.
    pub overwrite: bool,
    /// Whether to write only the architecture into the labels, because another annotator keeps reordering longer
    /// lists.
    pub arch_only_labels: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            families: Families::Both,
            max_pods: MaxPods::Off,
            overwrite: false,
            arch_only_labels: false,
        }
    }
}

/// The consumer of the annotations. Both read the architecture in the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Families {
    /// OpenShift's cluster-autoscaler-operator: exactly four keys.
    OpenShift,
    /// Upstream's cluster-autoscaler.
    Upstream,
    /// Both.
    Both,
}

impl Families {
    pub(crate) fn openshift(self) -> bool {
        self != Self::Upstream
    }

    pub(crate) fn upstream(self) -> bool {
        self != Self::OpenShift
    }
}

/// The maximum number of pods of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaxPods {
    /// Not written; cluster-autoscaler assumes 110.
    Off,
    /// Derived from the addresses of the network interfaces, if known.
    Eni,
    /// This many.
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
    let wanted = Wanted { shape, capacity, options };
    let marker = Marker::read(current.get(names::ANNOTATION_ANNOTATED));
    let mut record = Record::default();
    let mut assessment = Assessment::default();
    assess_keys(current, &wanted, &marker, &mut record, &mut assessment);
    assess_labels(current, &wanted, &marker, &mut record, &mut assessment);
    let kept: Vec<_> = assessment.kept.iter().map(|name| keys::short(name)).collect();
    record.add_kept(&kept);

    let now = current.get(names::ANNOTATION_ANNOTATED);
    if marker != Marker::Newer || options.overwrite {
        if options.families.upstream() {
            assessment.change.want(names::ANNOTATION_ANNOTATED, now, record.as_str());
        } else {
            assessment.change.remove(names::ANNOTATION_ANNOTATED, now);
        }
    }
    assessment
}

fn assess_keys(
    current: &Current,
    wanted: &Wanted<'_>,
    marker: &Marker<'_>,
    record: &mut Record,
    assessment: &mut Assessment,
) {
    for key in Key::ALL {
        let name = key.name();
        let now = current.get(name);
        let was_ours = now.is_some() && now == marker.wrote(key.short());
        let Some(value) = wanted.value(key) else {
            if was_ours {
                assessment.change.remove(name, now);
            }
            continue;
        };
        if now.is_none() || was_ours || key.is_always_ours() || wanted.options.overwrite {
            assessment.change.want(name, now, &value);
            record.add(key.short(), &value);
        } else if now != Some(&*value) && *marker != Marker::Newer {
            assessment.kept.push(name);
            if !marker.reported_kept(key.short()) {
                assessment.newly_kept.push(name);
            }
        }
    }
}

fn assess_labels(
    current: &Current,
    wanted: &Wanted<'_>,
    marker: &Marker<'_>,
    record: &mut Record,
    assessment: &mut Assessment,
) {
    let list = current.get(names::ANNOTATION_CAPACITY_LABELS);
    let mut pairs = labels::parse(list.unwrap_or(""));
    let mut changed = false;
    for label in Label::ALL {
        let now = pairs.get(label.name()).copied();
        let was_ours = now.is_some() && now == marker.wrote(label.short());
        let Some(value) = wanted.pair(label) else {
            if was_ours {
                pairs.remove(label.name());
                changed = true;
            }
            continue;
        };
        if now.is_none() || was_ours || label.is_always_ours() {
            if now != Some(value) {
                pairs.insert(label.name(), value);
                changed = true;
                if label == Label::Architecture && !was_ours {
                    assessment.contradicted_architecture = now.map(ToOwned::to_owned);
                }
            }
            record.add(label.short(), value);
        }
    }
    if changed {
        let merged = labels::join(&pairs);
        assessment.change.want(names::ANNOTATION_CAPACITY_LABELS, list, &merged);
    }
}

#[cfg(test)]
mod tests;
