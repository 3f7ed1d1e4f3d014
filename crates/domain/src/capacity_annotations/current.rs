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

/// The existing annotations. Caches hold thousands of these, so all values share one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Current {
    values: Box<str>,
    /// One past the end of each value.
    ends: [u32; NAMES.len()],
    /// One bit per name, because an empty value is not an absent one.
    present: u16,
}

impl Current {
    /// Reads the annotations that matter.
    pub fn read<'a>(lookup: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        let found = NAMES.map(lookup);
        let mut values = String::with_capacity(found.iter().flatten().map(|text| text.len()).sum());
        let mut ends = [0; NAMES.len()];
        let mut present = 0;
        for (index, value) in found.iter().enumerate() {
            if let Some(value) = value {
                values.push_str(value);
                present |= 1 << index;
            }
            // Kubernetes limits all annotations together to 256 KiB.
            ends[index] = u32::try_from(values.len()).unwrap_or(u32::MAX);
        }
        Self { values: values.into(), ends, present }
    }

    /// The value of an annotation.
    pub fn get(&self, name: &str) -> Option<&str> {
        let index = NAMES.iter().position(|candidate| *candidate == name)?;
        if self.present & (1 << index) == 0 {
            return None;
        }
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.values.get(start as usize..self.ends[index] as usize)
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
