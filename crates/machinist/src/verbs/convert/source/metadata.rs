use std::collections::BTreeMap;

use machinist_provider::fields::{Fields, Level};

use crate::verbs::convert::messages;

/// What the API server or its clients set, and what a template does not use.
const IGNORED: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
];

#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The kind of its controller.
    pub(crate) owner: Option<String>,
    /// Whether it comes from a cluster.
    pub(crate) stored: bool,
    pub(crate) deleted: bool,
}

impl Metadata {
    /// The metadata of an object, which must have a name.
    pub(super) fn of_object(fields: &mut Fields<'_>) -> Self {
        let metadata = fields.object("metadata", Self::read).unwrap_or_default();
        if metadata.name.is_empty() {
            fields.add(Level::Invalid, "metadata.name", messages::REQUIRED);
        }
        metadata
    }

    pub(super) fn of_template(fields: &mut Fields<'_>) -> Self {
        fields.object("metadata", Self::read).unwrap_or_default()
    }

    fn read(fields: &mut Fields<'_>) -> Self {
        fields.ignore(IGNORED);
        let owners = fields.list("ownerReferences", |_, owner| {
            owner.ignore(&["apiVersion", "blockOwnerDeletion", "name", "uid"]);
            let kind = owner.text("kind");
            kind.filter(|_| owner.flag("controller") == Some(true))
        });
        Self {
            name: fields.text("name").unwrap_or_default(),
            namespace: fields.text("namespace"),
            labels: fields.map("labels"),
            annotations: fields.map("annotations"),
            owner: owners.into_iter().flatten().next(),
            stored: fields.text("uid").is_some(),
            deleted: fields.value("deletionTimestamp").is_some(),
        }
    }
}
