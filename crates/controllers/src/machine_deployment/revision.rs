//! Revisions of a deployment, as `machinist rollout` shows them and goes back to them. Pure.
//!
//! A revision is a MachineSet with the annotation of its number. Its template is the one that the deployment had, with
//! the label of the hash and without the defaults of a webhook.

use std::cmp::Reverse;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_CHANGE_CAUSE, ANNOTATION_HOT_FIELDS, ANNOTATION_REVISION, LABEL_TEMPLATE_HASH,
};
use machinist_api::wire;
use machinist_domain::pairs::Pairs;
use serde_json::{Value, json};

use super::defaults;
pub use super::template::Change;
use super::template::{self, changes as compare};
use crate::kinds::{MachineDeployment, Template};

#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub number: i64,
    pub set: String,
    pub created: Option<Timestamp>,
    /// The size of the set.
    pub replicas: i32,
    pub change_cause: Option<String>,
    /// Whether it is the set of the deployment's template.
    pub current: bool,
    /// Labels, annotations and spec.
    pub template: Value,
}

/// By which one of several sets with the current template is the current one: the greatest.
pub(super) fn rank(number: Option<i64>, replicas: Option<i32>) -> (Option<i64>, bool) {
    (number, replicas != Some(0))
}

/// A template whose spec is not a map.
#[derive(Debug, thiserror::Error)]
#[error("{0}: spec.template.spec")]
pub struct InvalidTemplate(String, #[source] serde_json::Error);

/// The revisions among these sets, in the order of their numbers. Sets of others, without a number, or that are being
/// deleted are none.
pub fn revisions(
    deployment: &MachineDeployment,
    sets: Vec<wire::MachineSet>,
) -> Result<Vec<Revision>, InvalidTemplate> {
    let own = &deployment.meta.key.name;
    let mut revisions = Vec::new();
    for set in sets {
        let wire::MachineSet { metadata, spec, .. } = set;
        let owner = metadata.controller().map(|owner| owner.uid.as_str());
        let number = metadata.annotations.get(ANNOTATION_REVISION);
        let number = number.and_then(|text| text.parse().ok());
        let (Some(number), None) = (number, &metadata.deletion_timestamp) else { continue };
        if owner != Some(&*deployment.meta.uid.0) {
            continue;
        }
        let stored = Template {
            labels: Pairs::from(spec.template.metadata.labels),
            annotations: Pairs::from(spec.template.metadata.annotations),
            spec: spec.template.spec.raw.map(|raw| raw.get().into()),
        };
        let hot_fields = metadata.annotations.get(ANNOTATION_HOT_FIELDS).map(String::as_str);
        let hash = template::hash_on(&deployment.spec.template, hot_fields);
        let hash = hash.map_err(|error| InvalidTemplate(own.to_string(), error))?;
        let label = metadata.labels.get(LABEL_TEMPLATE_HASH);
        let like = &deployment.spec.template;
        let template = defaults::whole(&stored, label.map(String::as_str), hot_fields, like);
        let template = template.map_err(|error| InvalidTemplate(metadata.name.clone(), error))?;
        revisions.push(Revision {
            number,
            created: metadata.creation_timestamp,
            replicas: spec.replicas.unwrap_or(1),
            change_cause: metadata.annotations.get(ANNOTATION_CHANGE_CAUSE).cloned(),
            current: label == Some(&hash),
            set: metadata.name,
            template,
        });
    }
    let current = revisions.iter().filter(|one: &&Revision| one.current).map(|one| {
        let rank = rank(Some(one.number), Some(one.replicas));
        (rank, Reverse((one.created, one.set.clone())))
    });
    if let Some((_, Reverse((_, current)))) = current.max() {
        for one in &mut revisions {
            one.current = one.set == current;
        }
    }
    revisions.sort_by(|one, other| (one.number, &one.set).cmp(&(other.number, &other.set)));
    Ok(revisions)
}

/// How two templates differ: also in what can change without new Machines.
pub fn changes(from: &Revision, to: &Revision) -> Vec<Change> {
    compare(&from.template, &to.template)
}

/// How the template of the deployment differs from a revision, and the merge patch that makes it equal; `None` if it is
/// equal. The change cause goes with the template, as with Deployments.
pub fn rollback(
    deployment: &MachineDeployment,
    to: &Revision,
) -> Result<Option<(Vec<Change>, Value)>, InvalidTemplate> {
    let name = || deployment.meta.key.name.to_string();
    let from = template::whole(&deployment.spec.template);
    let from = from.map_err(|error| InvalidTemplate(name(), error))?;
    if from == to.template {
        return Ok(None);
    }
    let annotations = json!({ANNOTATION_CHANGE_CAUSE: to.change_cause});
    let patch = json!({
        "metadata": {"annotations": annotations},
        "spec": {"template": template::difference(&from, &to.template)},
    });
    Ok(Some((compare(&from, &to.template), patch)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::machine_deployment::samples;

    fn deployment(template: &Value) -> Arc<MachineDeployment> {
        samples::read(&json!({
            "metadata": {"name": "web", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
            "spec": {"template": template},
        }))
    }

    fn template(kind: &str) -> Value {
        let value = json!({"instanceType": kind, "tags": null});
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"providerSpec": {"value": value}}})
    }

    fn set(name: &str, revision: &str, owner: &str, mut template: Value) -> wire::MachineSet {
        let parsed = deployment(&template).spec.template.clone();
        let hash = template::hash_on(&parsed, None).unwrap();
        template["metadata"]["labels"][LABEL_TEMPLATE_HASH] = json!(hash);
        template["spec"]["authoritativeAPI"] = json!("MachineAPI");
        serde_json::from_value(json!({
            "metadata": {
                "name": name,
                "labels": {LABEL_TEMPLATE_HASH: hash},
                "annotations": {ANNOTATION_REVISION: revision, ANNOTATION_CHANGE_CAUSE: name},
                "ownerReferences": [{"uid": owner, "controller": true}],
            },
            "spec": {"replicas": 2, "template": template},
        }))
        .unwrap()
    }

    #[test]
    fn revisions_are_the_numbered_sets_of_the_deployment_in_order() {
        let web = deployment(&template("b"));
        let sets = vec![
            set("ten", "10", "u", template("b")),
            set("two", "2", "u", template("a")),
            set("other", "3", "v", template("a")),
            set("odd", "x", "u", template("a")),
        ];
        let found = revisions(&web, sets).unwrap();
        let shown: Vec<_> =
            found.iter().map(|one| (one.number, one.set.as_str(), one.current)).collect();
        assert_eq!(shown, [(2, "two", false), (10, "ten", true)]);
        let changed = changes(&found[0], &found[1]);
        let path = "spec.template.spec.providerSpec.value.instanceType".to_owned();
        let (from, to) = (Some("a".to_owned()), Some("b".to_owned()));
        assert_eq!(changed, [Change { path, from, to }]);
    }

    #[test]
    fn a_rollback_writes_what_differs_and_the_change_cause() {
        let mut current = template("b");
        current["metadata"]["annotations"] = json!({"a/b": "c"});
        current["spec"]["taints"] = json!([{"key": "x"}]);
        let web = deployment(&current);
        let found = revisions(&web, vec![set("old", "1", "u", template("a"))]).unwrap();
        let (changes, patch) = rollback(&web, &found[0]).unwrap().unwrap();
        assert_eq!(changes.len(), 3, "{changes:?}");
        let expected = json!({
            "metadata": {"annotations": {ANNOTATION_CHANGE_CAUSE: "old"}},
            "spec": {"template": {
                "metadata": {"annotations": {"a/b": null}},
                "spec": {"taints": null, "providerSpec": {"value": {"instanceType": "a"}}},
            }},
        });
        assert_eq!(patch, expected);
    }

    #[test]
    fn only_the_latest_set_of_the_template_is_current() {
        let web = deployment(&template("a"));
        let sets = ["1", "2"].map(|number| set(number, number, "u", template("a")));
        let found = revisions(&web, sets.into()).unwrap();
        assert_eq!(found.iter().map(|one| one.current).collect::<Vec<_>>(), [false, true]);
    }

    /// So a rollback finds the MachineSet again.
    #[test]
    fn a_revision_is_the_template_of_the_deployment_without_a_webhooks_defaults() {
        let web = deployment(&template("b"));
        let mut old = set("old", "1", "u", template("a"));
        let mut stored = template("a");
        stored["spec"]["providerSpec"]["value"]["deviceIndex"] = json!(0);
        let stored = serde_json::value::to_raw_value(&stored["spec"]).unwrap();
        old.spec.template.spec.raw = Some(stored);
        let (_, patch) = rollback(&web, &revisions(&web, vec![old]).unwrap()[0]).unwrap().unwrap();
        let value = &patch["spec"]["template"]["spec"]["providerSpec"]["value"];
        assert_eq!(*value, json!({"instanceType": "a"}));
    }

    #[test]
    fn nothing_is_written_for_an_equal_template() {
        let web = deployment(&template("a"));
        let found = revisions(&web, vec![set("old", "1", "u", template("a"))]).unwrap();
        assert!(found[0].current);
        assert_eq!(rollback(&web, &found[0]).unwrap(), None);
    }
}
