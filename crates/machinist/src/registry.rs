//! Which controllers there are, tied to the providers that are linked into this binary.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinist_aws_spec::{AwsSpecs, built_in};
use machinist_controllers::annotator::Annotator;
use machinist_controllers::kinds::MachineSets;
use machinist_runtime::controller::start::Registration;

/// A name that is no controller's.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownController {
    name: String,
    known: Vec<&'static str>,
}

impl std::fmt::Display for UnknownController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "--controllers: there is no {:?}; there are: all, {}",
            self.name,
            self.known.join(", ")
        )
    }
}

impl std::error::Error for UnknownController {}

/// Every controller.
pub fn all() -> Vec<Registration> {
    vec![Registration::new(|shared| {
        Annotator::new(shared, MachineSets::new(Arc::new(AwsSpecs)), built_in)
    })]
}

/// The controllers with these names; "all" stands for every one.
pub fn select(names: &[String]) -> Result<Vec<Registration>, UnknownController> {
    let all = all();
    let known: Vec<_> = all.iter().map(|controller| controller.name).collect();
    let wanted: BTreeSet<&str> = names.iter().map(|name| name.trim()).collect();
    let unknown = |name: &&&str| **name != "all" && !known.contains(*name);
    if let Some(name) = wanted.iter().find(unknown) {
        return Err(UnknownController { name: (*name).to_owned(), known });
    }
    let everything = wanted.contains("all");
    Ok(all.into_iter().filter(|one| everything || wanted.contains(one.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Result<Vec<&'static str>, String> {
        let list: Vec<_> = list.iter().map(|name| (*name).to_owned()).collect();
        let selected = select(&list).map_err(|error| error.to_string())?;
        Ok(selected.iter().map(|controller| controller.name).collect())
    }

    #[test]
    fn controllers_are_chosen_by_name_once_each() {
        assert_eq!(names(&["annotator", " annotator"]), Ok(vec!["annotator"]));
        assert_eq!(names(&["all"]), Ok(vec!["annotator"]));
        assert!(names(&["annotator", "x"]).unwrap_err().contains("there are: all, annotator"));
    }
}
