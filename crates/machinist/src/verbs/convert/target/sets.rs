//! MachineSets and MachineDeployments.

use machinist_api::machine_deployment::{
    DeploymentStrategy, MachineDeploymentSpec, RollingUpdate, StrategyType,
};
use machinist_api::machine_set::MachineSetSpec;
use machinist_api::names::{ANNOTATION_CREATION_TIMEOUT, ANNOTATION_PRESERVE};
use machinist_api::parts::LabelSelector;
use machinist_provider::fields::{Finding, Level};
use serde_json::{Value, json};

use super::class::Translation;
use super::metadata::{self, EFFECTIVE_TIMEOUT, PRESERVE, Pairs, Selected};
use super::{Classes, health_check, object, template};
use crate::verbs::convert::messages;
use crate::verbs::convert::source::{self, Strategy, StrategyKind, read_timeout};

const CLASS: &str = "spec.template.spec.class.name";
const DEPLOYMENT: &str = "MachineDeployment";
/// Without a limit, machine-controller-manager keeps all old MachineSets.
const ALL: i32 = i32::MAX;

pub(super) fn set(
    source: &source::Set,
    classes: &mut Classes,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Value>> {
    let namespace = source.metadata.namespace.as_deref();
    let class = classes.find(namespace, &source.template.spec.class, CLASS, findings)?;
    let selector = selector(&source.selector);
    let spec = MachineSetSpec {
        min_ready_seconds: source.min_ready_seconds,
        replicas: Some(source.replicas),
        selector: Some(selector.clone()),
        template: Some(template::template(&source.template, class, selected, findings)),
        ..MachineSetSpec::default()
    };
    let metadata = object_metadata(&source.metadata, class, selected, findings);
    let mut objects = vec![object("MachineSet", &metadata, &serde_json::to_value(spec).ok()?)];
    // A MachineDeployment has its own.
    if source.metadata.owner.as_deref() != Some(DEPLOYMENT) {
        if source.auto_preserve_max.is_some() {
            let path = "spec.autoPreserveFailedMachineMax".to_owned();
            let text = messages::PRESERVE_IN_SET.to_owned();
            findings.push(Finding { level: Level::Unsupported, path, text });
        }
        objects.extend(health_check::of(&source.metadata, source, &selector));
    }
    Some(objects)
}

pub(super) fn deployment(
    source: &source::Deployment,
    classes: &mut Classes,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Value>> {
    let set = &source.set;
    let namespace = source.metadata.namespace.as_deref();
    let class = classes.find(namespace, &set.template.spec.class, CLASS, findings)?;
    let mut template = template::template(&set.template, class, selected, findings);
    if let Some(timeout) = effective_timeout(&source.metadata, findings)
        && let Some(annotations) =
            template.metadata.as_mut().and_then(|metadata| metadata.annotations.as_mut())
    {
        annotations.insert(ANNOTATION_CREATION_TIMEOUT.to_owned(), timeout);
    }
    let selector = selector(&set.selector);
    let spec = MachineDeploymentSpec {
        auto_preserve_failed_machine_max: set.auto_preserve_max,
        min_ready_seconds: set.min_ready_seconds,
        // A rolling update would replace what was to be updated in place.
        paused: (source.paused || source.strategy.kind == StrategyKind::InPlaceUpdate)
            .then_some(true),
        progress_deadline_seconds: source.progress_deadline_seconds,
        replicas: Some(set.replicas),
        revision_history_limit: Some(source.revision_history_limit.unwrap_or(ALL)),
        selector: Some(selector.clone()),
        strategy: Some(strategy(&source.strategy)),
        template: Some(template),
        ..MachineDeploymentSpec::default()
    };
    let metadata = object_metadata(&source.metadata, class, selected, findings);
    let mut objects = vec![object(DEPLOYMENT, &metadata, &serde_json::to_value(spec).ok()?)];
    objects.extend(health_check::of(&source.metadata, set, &selector));
    Some(objects)
}

fn effective_timeout(source: &source::Metadata, findings: &mut Vec<Finding>) -> Option<String> {
    let text = source.annotations.get(EFFECTIVE_TIMEOUT)?;
    let timeout = read_timeout(text);
    if timeout.is_none() {
        let path = format!("metadata.annotations[{EFFECTIVE_TIMEOUT}]");
        let text = messages::not_a_duration(text);
        findings.push(Finding { level: Level::Unsupported, path, text });
    }
    timeout
}

fn object_metadata(
    source: &source::Metadata,
    class: &Translation,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> Value {
    let mut annotations: Pairs = metadata::annotations(source, "metadata", findings);
    // It is about Machines.
    if source.annotations.contains_key(PRESERVE)
        && annotations.remove(ANNOTATION_PRESERVE).is_some()
    {
        findings.push(metadata::left_out(format!("metadata.annotations[{PRESERVE}]")));
    }
    for (name, value) in &class.capacity {
        annotations.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let labels = metadata::labels(&source.labels, "metadata", selected, findings);
    metadata::of(source, labels, annotations)
}

/// With our name for the hash of the template.
fn selector(source: &LabelSelector) -> LabelSelector {
    let mut selector = source.clone();
    selector.match_labels = selector.match_labels.map(|labels| {
        labels.into_iter().map(|(name, value)| (metadata::label(&name).to_owned(), value)).collect()
    });
    for one in selector.match_expressions.iter_mut().flatten() {
        one.key = metadata::label(&one.key).to_owned();
    }
    selector
}

/// Machine-controller-manager's defaults are 0, and 1 unavailable if both are.
fn strategy(source: &Strategy) -> DeploymentStrategy {
    if source.kind == StrategyKind::Recreate {
        let kind = Some(StrategyType::Recreate);
        return DeploymentStrategy { kind, ..DeploymentStrategy::default() };
    }
    let max_surge = source.max_surge.clone().unwrap_or_else(|| json!(0));
    let mut max_unavailable = source.max_unavailable.clone().unwrap_or_else(|| json!(0));
    let is_zero = |limit: &Value| *limit == json!(0) || *limit == json!("0%");
    if is_zero(&max_surge) && is_zero(&max_unavailable) {
        max_unavailable = json!(1);
    }
    DeploymentStrategy {
        kind: Some(StrategyType::RollingUpdate),
        rolling_update: Some(RollingUpdate {
            max_surge: Some(max_surge),
            max_unavailable: Some(max_unavailable),
            ..RollingUpdate::default()
        }),
        ..DeploymentStrategy::default()
    }
}
