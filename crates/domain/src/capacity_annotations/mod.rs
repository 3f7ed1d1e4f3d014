//! The annotations that tell cluster-autoscaler what a machine of an empty set would give.
//!
//! Input: the annotations as they stand ([`Current`]), what the machines ask for ([`Shape`]) and give ([`Capacity`]),
//! and [`Options`]. Output: an [`Assessment`]: what to change, and what somebody should hear about. The controller and
//! `machinist annotate` share it.
//!
//! Invariants: carrying the change out and assessing again changes nothing; a pair or key of a user's is never lost;
//! order alone is never a difference. What is ours is known from the marker ([`names::ANNOTATION_ANNOTATED`]), which is
//! written in the same patch as the values that it lists. OpenShift's three keys and the architecture are always ours.
//!
//! Not here: where capacities come from, and writing.

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
    /// Whether to say how many pods a node takes.
    pub max_pods: MaxPods,
    /// Replace capacity keys that somebody set by hand.
    pub overwrite: bool,
    /// Write no pair but the architecture's into the labels: while somebody shuffles longer lists for ever.
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

/// Who is to read the annotations. The architecture in the labels is for both.
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

/// How many pods a node takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaxPods {
    /// Nothing is said; cluster-autoscaler reckons with 110.
    Off,
    /// As many as the network interfaces have addresses for, where that is known.
    Eni,
    /// This many.
    Number(u32),
}

/// What is to be done about the annotations of one set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    /// What to write; empty where all is well.
    pub change: AnnotationChange,
    /// Keys that somebody set by hand to something else than what we would say; they are left.
    pub kept: Vec<&'static str>,
    /// Those of them that nobody has heard of yet. The marker remembers who has.
    pub newly_kept: Vec<&'static str>,
    /// The architecture that somebody else wrote and that is wrong; it is replaced.
    pub contradicted_architecture: Option<String>,
}

/// Compares what stands there with what should.
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
            if !marker.told_kept(key.short()) {
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
