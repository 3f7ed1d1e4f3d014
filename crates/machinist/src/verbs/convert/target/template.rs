use machinist_api::machine::{MachineSpec, ProviderSpec};
use machinist_api::machine_set::MachineTemplate;
use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_PRESERVE_TIMEOUT,
    LABEL_CLUSTER,
};
use machinist_api::parts::ObjectMetadata;
use machinist_provider::fields::Finding;

use super::class::Translation;
use super::metadata::{self, Pairs, Selected};
use crate::verbs::convert::source;

/// The template of a MachineSet or MachineDeployment.
pub(super) fn template(
    source: &source::Template,
    class: &Translation,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> MachineTemplate {
    let path = "spec.template.metadata";
    let (mut labels, mut annotations) =
        machine_metadata(&source.metadata, &source.spec, class, path, selected, findings);
    metadata::leave_out_marks(&mut annotations, path, findings);
    // A template has no Node yet: there it is a label like any other.
    if let Some(node) = source.metadata.labels.get("node") {
        labels.insert("node".to_owned(), node.clone());
    }
    MachineTemplate {
        metadata: Some(ObjectMetadata {
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMetadata::default()
        }),
        spec: Some(machine_spec(&source.spec, class, "spec.template.spec", findings)),
    }
}

/// Labels and annotations of Machines: with the cluster and the timeouts. `path` is that of their source.
pub(super) fn machine_metadata(
    source: &source::Metadata,
    spec: &source::MachineSpec,
    class: &Translation,
    path: &str,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> (Pairs, Pairs) {
    let mut labels = metadata::labels(&source.labels, path, selected, findings);
    if let Some(cluster) = &class.cluster {
        labels.entry(LABEL_CLUSTER.to_owned()).or_insert_with(|| cluster.clone());
    }
    let mut annotations = metadata::annotations(source, path, findings);
    let timeouts = &spec.configuration;
    annotations.insert(ANNOTATION_CREATION_TIMEOUT.to_owned(), timeouts.creation.clone());
    annotations.insert(ANNOTATION_DRAIN_TIMEOUT.to_owned(), timeouts.drain.clone());
    if let Some(preserve) = &timeouts.preserve {
        annotations.insert(ANNOTATION_PRESERVE_TIMEOUT.to_owned(), preserve.clone());
    }
    (labels, annotations)
}

pub(super) fn machine_spec(
    source: &source::MachineSpec,
    class: &Translation,
    path: &str,
    findings: &mut Vec<Finding>,
) -> MachineSpec {
    let path = format!("{path}.nodeTemplate.metadata");
    let annotations = metadata::plain_annotations(&source.node_annotations, &path, findings);
    let labels = metadata::node_labels(&source.node_labels, &path, findings);
    let node = ObjectMetadata {
        labels: Some(labels).filter(|labels| !labels.is_empty()),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        ..ObjectMetadata::default()
    };
    MachineSpec {
        metadata: (node != ObjectMetadata::default()).then_some(node),
        provider_id: source.provider_id.clone(),
        provider_spec: Some(ProviderSpec { value: Some(class.spec.clone()) }),
        taints: Some(source.taints.clone()).filter(|taints| !taints.is_empty()),
        ..MachineSpec::default()
    }
}
