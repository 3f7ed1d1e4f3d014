use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::time::Instant;

use crate::messages;

const FIELD_MANAGER: &str = "machinist-control-plane";
const LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

pub(crate) async fn install(client: Client, yaml: &str) -> Result<()> {
    let definitions = parse(yaml)?;
    let api = Api::<CustomResourceDefinition>::all(client);
    for definition in &definitions {
        let name = definition.name_any();
        api.patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(definition))
            .await
            .with_context(|| messages::cannot("apply", &name))?;
    }
    for definition in &definitions {
        wait_established(&api, &definition.name_any()).await?;
    }
    Ok(())
}

fn parse(yaml: &str) -> Result<Vec<CustomResourceDefinition>> {
    let documents: Vec<Option<Value>> =
        serde_saphyr::from_multiple(yaml).context(messages::CRDS_NOT_YAML)?;
    let mut definitions = Vec::new();
    for (index, document) in documents.into_iter().enumerate() {
        let Some(document) = document else { continue };
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let definition = serde_json::from_value(document);
        definitions.push(definition.with_context(|| messages::not_a_crd(index + 1, &kind))?);
    }
    Ok(definitions)
}

async fn wait_established(api: &Api<CustomResourceDefinition>, name: &str) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let definition = api.get(name).await.with_context(|| messages::cannot("get", name))?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    bail!(messages::not_established(name, LIMIT));
}
