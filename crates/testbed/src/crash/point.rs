//! The name of a crash point does not depend on the order of parallel workers: it counts per object and not per run.

use std::{collections::HashMap, fmt};

use crate::faults::{ApiRequest, Verb};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Write {
    controller: String,
    verb: Verb,
    resource: String,
    object: String,
}

impl Write {
    /// `label` is the scenario's name for the object; a namespace in it is replaced, as it differs between runs.
    pub(super) fn of(request: &ApiRequest, agents: &str, label: &str) -> Self {
        let agent = request.user_agent.strip_prefix(agents).unwrap_or(&request.user_agent);
        let mut resource = request.resource.clone();
        if let Some(subresource) = &request.subresource {
            resource = format!("{resource}/{subresource}");
        }
        let object = match &request.namespace {
            Some(namespace) => label.replace(namespace.as_str(), "~"),
            None => label.to_owned(),
        };
        Self {
            controller: agent.split('/').next().unwrap_or_default().to_owned(),
            verb: request.verb,
            resource,
            object,
        }
    }
}

/// The `nth` write of its kind in the undisturbed run, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CrashPoint {
    pub(super) write: Write,
    pub(super) nth: u32,
}

impl CrashPoint {
    pub(super) fn in_sequence(writes: impl IntoIterator<Item = Write>) -> Vec<Self> {
        let mut counts = HashMap::new();
        let count = |write: Write| {
            let nth = counts.entry(write.clone()).or_insert(0);
            *nth += 1;
            Self { write, nth: *nth }
        };
        writes.into_iter().map(count).collect()
    }

    /// Also returns the points that the other run has not reached. A write that it has not made at all stays: its name
    /// depends on the run, which must come to light.
    pub(super) fn made_as_often_by(points: Vec<Self>, other: &[Self]) -> (Vec<Self>, Vec<Self>) {
        let mut most = HashMap::new();
        for Self { write, nth } in other {
            let seen = most.entry(write).or_insert(0);
            *seen = (*seen).max(*nth);
        }
        let sure = |point: &Self| most.get(&point.write).is_none_or(|most| point.nth <= *most);
        points.into_iter().partition(sure)
    }
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Write { controller, verb, resource, object } = &self.write;
        write!(f, "{controller}: {verb} {resource} {object} #{}", self.nth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(name: &str, namespace: &str) -> ApiRequest {
        ApiRequest {
            user_agent: "machinist-annotator/0.1.0".to_owned(),
            verb: Verb::Patch,
            group: "machine.openshift.io".to_owned(),
            resource: "machinesets".to_owned(),
            subresource: Some("status".to_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            path: String::new(),
            body: bytes::Bytes::new(),
        }
    }

    fn points(requests: &[ApiRequest]) -> Vec<String> {
        let write = |request: &ApiRequest| {
            Write::of(request, "machinist-", request.name.as_deref().unwrap_or_default())
        };
        CrashPoint::in_sequence(requests.iter().map(write))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_point_is_readable_and_counts_per_object() {
        let found = points(&[patch("a", "n"), patch("b", "n"), patch("a", "n")]);
        assert_eq!(
            found,
            [
                "annotator: patch machinesets/status a #1",
                "annotator: patch machinesets/status b #1",
                "annotator: patch machinesets/status a #2",
            ]
        );
    }

    #[test]
    fn what_another_run_repeats_less_often_is_no_point_but_what_it_does_not_know_is() {
        let run = |names: &[&str]| {
            let write = |name: &&str| Write::of(&patch(name, "n"), "machinist-", name);
            CrashPoint::in_sequence(names.iter().map(write))
        };
        let (sure, dropped) =
            CrashPoint::made_as_often_by(run(&["a", "a", "b-x1"]), &run(&["a", "b-x2"]));
        assert_eq!(sure, run(&["a", "b-x1"]));
        assert_eq!(dropped, run(&["a", "a"])[1..]);
    }

    #[test]
    fn neither_the_order_of_workers_nor_the_namespace_matters() {
        let mut one = points(&[patch("a-w1", "w1"), patch("b", "w1"), patch("b", "w1")]);
        let mut other = points(&[patch("b", "w2"), patch("b", "w2"), patch("a-w2", "w2")]);
        one.sort();
        other.sort();
        assert_eq!(one, other);
    }
}
