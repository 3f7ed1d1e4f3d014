//! The existing annotations of a MachineSet that matter here.

use machinist_api::names;

pub(super) const NAMES: [&str; 11] = [
    names::ANNOTATION_VCPU,
    names::ANNOTATION_MEMORY,
    names::ANNOTATION_GPU,
    names::ANNOTATION_CAPACITY_LABELS,
    names::ANNOTATION_CAPACITY_CPU,
    names::ANNOTATION_CAPACITY_MEMORY,
    names::ANNOTATION_CAPACITY_GPU_COUNT,
    names::ANNOTATION_CAPACITY_GPU_TYPE,
    names::ANNOTATION_CAPACITY_EPHEMERAL_DISK,
    names::ANNOTATION_CAPACITY_MAX_PODS,
    names::ANNOTATION_ANNOTATED,
];

/// The existing annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Current([Option<Box<str>>; NAMES.len()]);

impl Current {
    /// Reads the annotations that matter.
    pub fn read<'a>(lookup: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        Self(NAMES.map(|name| lookup(name).map(Into::into)))
    }

    /// The value of an annotation.
    pub fn get(&self, name: &str) -> Option<&str> {
        let index = NAMES.iter().position(|candidate| *candidate == name)?;
        self.0[index].as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_absent_from_empty() {
        let current = Current::read(|name| match name {
            names::ANNOTATION_VCPU => Some("8"),
            names::ANNOTATION_GPU => Some(""),
            names::ANNOTATION_ANNOTATED => Some("v1:"),
            _ => None,
        });
        assert_eq!(current.get(names::ANNOTATION_VCPU), Some("8"));
        assert_eq!(current.get(names::ANNOTATION_GPU), Some(""));
        assert_eq!(current.get(names::ANNOTATION_MEMORY), None);
        assert_eq!(current.get(names::ANNOTATION_ANNOTATED), Some("v1:"));
        assert_eq!(current.get("something/else"), None);
        assert_eq!(Current::default().get(names::ANNOTATION_VCPU), None);
    }
}
