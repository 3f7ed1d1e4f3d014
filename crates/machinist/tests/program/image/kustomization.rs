//! The folders of `deploy/` that can be installed, as `kubectl kustomize` renders them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster::create_namespace;
use machinist_testbed::kubectl::kubectl;
use serde_json::{Value, json};

use crate::processes::support::openshift::definition;

const FILE: &str = "kustomization.yaml";

/// What `kubectl apply -k` installs.
#[derive(Debug)]
pub(super) struct Kustomization {
    /// Below `deploy/`.
    pub(super) folder: String,
    pub(super) documents: Vec<Value>,
}

/// All that start something, sorted.
pub(super) async fn all(control_plane: &ControlPlane) -> Result<Vec<Kustomization>> {
    let mut folders = Vec::new();
    for file in manifests()? {
        let folder = file.parent().context("a file is in a folder")?.to_owned();
        if file.ends_with(FILE) && is_complete(&folder)? {
            folders.push(folder);
        }
    }
    folders.sort();
    let rendered = folders.iter().map(|folder| render(control_plane, folder));
    let mut all = try_join_all(rendered).await?;
    all.retain(|one| one.workloads().next().is_some());
    Ok(all)
}

/// Neither a component nor a step of the kustomization in the folder above.
fn is_complete(folder: &Path) -> Result<bool> {
    let read = |file: PathBuf| anyhow::Ok(documents(&file)?.pop().context("no document")?);
    let above = folder.parent().context("a folder above")?.join(FILE);
    let name = folder.file_name().map(|name| json!(name.to_string_lossy()));
    let is_step = above.is_file()
        && read(above)?["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|it| Some(it) == name.as_ref());
    Ok(!is_step && read(folder.join(FILE))?["kind"] == "Kustomization")
}

async fn render(control_plane: &ControlPlane, folder: &Path) -> Result<Kustomization> {
    let text = kubectl(control_plane, &["kustomize", &folder.to_string_lossy()], None).await?;
    let folder = folder.strip_prefix(deploy())?.to_string_lossy().into_owned();
    Ok(Kustomization { folder, documents: serde_saphyr::from_multiple(&text)? })
}

impl Kustomization {
    pub(super) fn workloads(&self) -> impl Iterator<Item = &Value> {
        self.documents.iter().filter(|document| is_workload(document))
    }

    pub(super) async fn apply(&self, control_plane: &ControlPlane) -> Result<()> {
        let list = list(self.documents.iter());
        kubectl(control_plane, &["apply", "-f", "-"], Some(&list)).await?;
        Ok(())
    }

    /// All but its namespaces, which would stay `Terminating` here.
    pub(super) async fn delete(&self, control_plane: &ControlPlane) -> Result<()> {
        let list = list(self.documents.iter().filter(|document| document["kind"] != "Namespace"));
        let delete = ["delete", "--ignore-not-found", "--wait=false", "-f", "-"];
        kubectl(control_plane, &delete, Some(&list)).await?;
        Ok(())
    }
}

/// Namespaces that the manifests expect, and kinds of other projects, such as ServiceMonitor.
pub(super) async fn prepare(control_plane: &ControlPlane, all: &[Kustomization]) -> Result<()> {
    let documents: Vec<_> = all.iter().flat_map(|one| &one.documents).collect();
    let created = documents.iter().filter(|document| document["kind"] == "Namespace");
    let created: BTreeSet<_> = created.filter_map(|one| one["metadata"]["name"].as_str()).collect();
    let used = documents.iter().filter_map(|one| one["metadata"]["namespace"].as_str());
    for namespace in used.collect::<BTreeSet<_>>().difference(&created) {
        if !namespace.starts_with("kube-") {
            create_namespace(&control_plane.client()?, namespace).await?;
        }
    }
    let mut foreign = BTreeMap::new();
    for document in documents {
        let version = document["apiVersion"].as_str().unwrap_or_default();
        let Some((group, version)) = version.split_once('/') else { continue };
        if group.contains('.') && !group.ends_with(".k8s.io") {
            let kind = document["kind"].as_str().context("a kind")?;
            let scope =
                if document["metadata"]["namespace"].is_null() { "Cluster" } else { "Namespaced" };
            let plural = format!("{}s", kind.to_lowercase());
            foreign.insert(kind, definition(group, version, kind, &plural, scope).to_string());
        }
    }
    if !foreign.is_empty() {
        let definitions: Vec<_> = foreign.into_values().collect();
        control_plane.install_crds(&definitions.join("\n---\n")).await?;
    }
    Ok(())
}

/// Whether it makes pods.
pub(super) fn is_workload(document: &Value) -> bool {
    let container = document.pointer("/spec/template/spec/containers/0/image");
    container.is_some()
}

/// Kind and name.
pub(super) fn identity(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&document["kind"]), text(&document["metadata"]["name"]))
}

/// The YAML files of `deploy/`.
pub(super) fn manifests() -> Result<Vec<PathBuf>> {
    let (mut files, mut pending) = (Vec::new(), vec![deploy()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

pub(super) fn documents(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file)?;
    serde_saphyr::from_multiple(&text).with_context(|| file.display().to_string())
}

fn list<'a>(items: impl Iterator<Item = &'a Value>) -> String {
    let items: Vec<_> = items.collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}
