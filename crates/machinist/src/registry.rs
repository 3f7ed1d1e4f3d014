//! Which controllers there are, tied to the providers that are linked into this binary.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinist_aws_spec::{AwsSpecs, catalogue};
use machinist_controllers::annotator::{Annotator, Settings};
use machinist_controllers::kinds::MachineSets;
use machinist_runtime::controller::start::Registration;

use crate::annotator::{AnnotatorArguments, Source};
use crate::aws;

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
pub fn all(flags: &AnnotatorArguments) -> Vec<Registration> {
    let flags = flags.clone();
    vec![Registration::new(move |shared| {
        let settings = Settings {
            options: flags.annotations.options(),
            cloud: flags.asks(Source::Ec2).then(|| aws::ec2_types(shared)),
            catalogue: flags.asks(Source::Catalogue).then_some(catalogue::capacity),
            obey_migration: flags.obeys_migration(),
        };
        Annotator::new(shared, MachineSets::new(Arc::new(AwsSpecs)), settings)
    })]
}

/// The controllers with these names; "all" stands for every one.
pub fn select(
    names: &[String],
    flags: &AnnotatorArguments,
) -> Result<Vec<Registration>, UnknownController> {
    let all = all(flags);
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
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        annotator: AnnotatorArguments,
    }

    fn names(list: &[&str]) -> Result<Vec<&'static str>, String> {
        let list: Vec<_> = list.iter().map(|name| (*name).to_owned()).collect();
        let flags = Flags::parse_from(["x"]).annotator;
        let selected = select(&list, &flags).map_err(|error| error.to_string())?;
        Ok(selected.iter().map(|controller| controller.name).collect())
    }

    #[test]
    fn controllers_are_chosen_by_name_once_each() {
        assert_eq!(names(&["annotator", " annotator"]), Ok(vec!["annotator"]));
        assert_eq!(names(&["all"]), Ok(vec!["annotator"]));
        assert!(names(&["annotator", "x"]).unwrap_err().contains("there are: all, annotator"));
    }
}
