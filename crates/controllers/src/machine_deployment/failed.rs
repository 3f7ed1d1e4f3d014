//! The new Machines that failed during a rollout, as the annotation `machinist.dev/failed-machines` of their MachineSet
//! has them: `v1 name=Failed,name=NotReady`. Machines that are gone stay in the list, so replacing them does not reset
//! the count.

use std::collections::BTreeMap;
use std::fmt;

const VERSION: &str = "v1 ";

machinist_api::named_enum! {
    /// What is wrong with a new Machine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Defect {
        /// Its phase is Failed, or it has an error.
        Failed,
        /// It has no ready Node in time.
        NotReady,
    }
}

/// By the names of the Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedMachines(BTreeMap<String, Defect>);

impl FailedMachines {
    /// `None` if the value has another form, such as that of a later version.
    pub(super) fn read(text: Option<&str>) -> Option<Self> {
        let Some(text) = text else { return Some(Self::default()) };
        let list = text.strip_prefix(VERSION)?.split(',').filter(|one| !one.is_empty());
        let one = |text: &str| {
            let (name, defect) = text.split_once('=')?;
            let defect = Defect::ALL.into_iter().find(|one| one.as_str() == defect)?;
            Some((name.to_owned(), defect))
        };
        list.map(one).collect::<Option<_>>().map(Self)
    }

    pub(super) fn to_text(&self) -> String {
        let one = |(name, defect): (&String, &Defect)| format!("{name}={}", defect.as_str());
        let list: Vec<_> = self.0.iter().map(one).collect();
        format!("{VERSION}{}", list.join(","))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn add(&mut self, name: &str, defect: Defect) {
        self.0.insert(name.to_owned(), defect);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Defect)> {
        self.0.iter().map(|(name, defect)| (name.as_str(), *defect))
    }
}

impl fmt::Display for FailedMachines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::messages::failed_machines(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_as_they_are_stored() {
        let mut failed = FailedMachines::read(None).unwrap();
        assert_eq!(failed, FailedMachines::default());
        failed.add("web-b", Defect::NotReady);
        failed.add("web-a", Defect::Failed);
        assert_eq!(failed.to_text(), "v1 web-a=Failed,web-b=NotReady");
        assert_eq!(FailedMachines::read(Some(&failed.to_text())), Some(failed));
        for other in ["", "v2 web-a=Failed", "v1 web-a", "v1 web-a=Odd"] {
            assert_eq!(FailedMachines::read(Some(other)), None, "{other}");
        }
    }
}
