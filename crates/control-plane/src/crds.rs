//! Installing `CustomResourceDefinitions` and waiting until they can be used.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;

use crate::error::Error;

const FIELD_MANAGER: &str = "machinist-control-plane";
const LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

pub(crate) async fn install(client: Client, yaml: &str) -> Result<(), Error> {
    let definitions = parse(yaml)?;
    let api = Api::<CustomResourceDefinition>::all(client);
    for definition in &definitions {
        let name = definition.name_any();
        api.patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(definition))
            .await
            .map_err(Error::api(format!("cannot apply {name}")))?;
    }
    for definition in &definitions {
        wait_established(&api, &definition.name_any()).await?;
    }
    Ok(())
}

pub(crate) fn parse(yaml: &str) -> Result<Vec<CustomResourceDefinition>, Error> {
    let bad = |index: usize, reason: String| Error::Manifest { index: index + 1, reason };
    let documents: Vec<Option<serde_json::Value>> =
        serde_saphyr::from_multiple(yaml).map_err(|error| bad(0, error.to_string()))?;
    documents
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, document)| {
            serde_json::from_value(document).map_err(|error| bad(index, error.to_string()))
        })
        .collect()
}

async fn wait_established(api: &Api<CustomResourceDefinition>, name: &str) -> Result<(), Error> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let definition = api.get(name).await.map_err(Error::api(format!("cannot get {name}")))?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    Err(Error::NotEstablished { name: name.to_owned(), after: LIMIT })
}
