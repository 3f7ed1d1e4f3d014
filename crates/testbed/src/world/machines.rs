use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::World;
use super::reading::{is_alive, phase};
use crate::cluster;

impl World {
    pub fn machines(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machines())
    }

    pub fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machine_sets())
    }

    pub fn deployments(&self) -> Api<DynamicObject> {
        let kind = cluster::machine_deployments();
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind)
    }

    pub fn health_checks(&self) -> Api<DynamicObject> {
        let kind = cluster::machine_health_checks();
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind)
    }

    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub async fn until_node(&self, name: &str) -> Result<Node> {
        self.eventually(&format!("node {name}"), || async { Ok(self.nodes().get(name).await?) })
            .await
    }

    pub async fn create_machine(
        &self,
        name: &str,
        metadata: Value,
        spec: Value,
    ) -> Result<DynamicObject> {
        create(&self.machines(), &cluster::machines(), name, metadata, spec).await
    }

    pub async fn create_machine_set(
        &self,
        name: &str,
        metadata: Value,
        spec: Value,
    ) -> Result<DynamicObject> {
        create(&self.sets(), &cluster::machine_sets(), name, metadata, spec).await
    }

    pub async fn create_machine_deployment(
        &self,
        name: &str,
        metadata: Value,
        spec: Value,
    ) -> Result<DynamicObject> {
        let kind = cluster::machine_deployments();
        create(&self.deployments(), &kind, name, metadata, spec).await
    }

    pub async fn create_health_check(
        &self,
        name: &str,
        metadata: Value,
        spec: Value,
    ) -> Result<DynamicObject> {
        let kind = cluster::machine_health_checks();
        create(&self.health_checks(), &kind, name, metadata, spec).await
    }

    pub async fn until_health_check(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        self.until(&self.health_checks(), name, what, wanted).await
    }

    pub async fn patch_deployment(&self, name: &str, patch: Value) -> Result<()> {
        let patch = Patch::Merge(patch);
        let patched = self.deployments().patch(name, &PatchParams::default(), &patch).await;
        patched.with_context(|| format!("changing {name}"))?;
        Ok(())
    }

    pub async fn patch_machine(&self, name: &str, patch: Value) -> Result<()> {
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub async fn patch_machine_status(&self, name: &str, status: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.machines().patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub async fn patch_set(&self, name: &str, patch: Value) -> Result<()> {
        let patched = self.sets().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.with_context(|| format!("changing {name}"))?;
        Ok(())
    }

    /// Without the scale subresource.
    pub async fn scale(&self, set: &str, replicas: usize) -> Result<()> {
        self.patch_set(set, json!({"spec": {"replicas": replicas}})).await
    }

    pub async fn delete_machine(&self, name: &str) -> Result<()> {
        self.machines().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub async fn delete_set(&self, name: &str) -> Result<()> {
        self.sets().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// By name; also those that are being deleted.
    pub async fn all_machines(&self) -> Result<Vec<DynamicObject>> {
        let mut all = self.machines().list(&ListParams::default()).await?.items;
        all.sort_by_key(ResourceExt::name_any);
        Ok(all)
    }

    pub async fn alive_machines(&self) -> Result<Vec<String>> {
        let all = self.all_machines().await?.into_iter();
        Ok(all.filter(is_alive).map(|machine| machine.name_any()).collect())
    }

    pub async fn until_machine(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        self.until(&self.machines(), name, what, wanted).await
    }

    pub async fn until_set(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        self.until(&self.sets(), name, what, wanted).await
    }

    pub async fn until_deployment(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        self.until(&self.deployments(), name, what, wanted).await
    }

    pub async fn until_phase(&self, machine: &str, wanted: &str) -> Result<DynamicObject> {
        self.until_machine(machine, wanted, |machine| phase(machine) == wanted).await
    }

    async fn until(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        self.eventually(what, || async {
            let object = api.get(name).await?;
            ensure!(wanted(&object), "{}", serde_json::to_string(&object)?);
            Ok(object)
        })
        .await
    }

    pub async fn until_gone(&self, machine: &str) -> Result<()> {
        self.eventually("the machine is gone", || async {
            match self.machines().get_opt(machine).await? {
                None => Ok(()),
                Some(machine) => bail!("{}", serde_json::to_string(&machine)?),
            }
        })
        .await
    }
}

async fn create(
    api: &Api<DynamicObject>,
    kind: &ApiResource,
    name: &str,
    metadata: Value,
    spec: Value,
) -> Result<DynamicObject> {
    let mut object = DynamicObject::new(name, kind).data(json!({ "spec": spec }));
    object.metadata = serde_json::from_value(metadata)?;
    object.metadata.name = Some(name.to_owned());
    let created = api.create(&PostParams::default(), &object).await;
    created.with_context(|| format!("creating {name}"))
}
