//! A small controller that the harness itself is tested with. Parents are ConfigMaps with the label `toy=parent` and a
//! value `a`. Each gets a child whose value `b` is `a`, then the annotation `toy/done`. Orphans are deleted.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use http::{HeaderValue, header};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;

use super::{Launch, RuntimeSubject};

const CALL: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Names come from the parent, writes can be repeated, errors are tried again.
    Careful,
    /// Children get random names and are counted as made only when the annotation says so.
    Forgetful,
    /// Children get random names, and are made where none is there: a write that lands late makes a second one.
    Hasty,
    /// Returns at the first error.
    Touchy,
}

pub fn subject(habit: Habit) -> RuntimeSubject {
    RuntimeSubject::new(move |launch: Launch| async move {
        run(launch.config()?, &launch.namespace, habit).await
    })
}

/// Returns only if it is touchy.
pub async fn run(mut config: kube::Config, namespace: &str, habit: Habit) -> Result<()> {
    let agent = HeaderValue::from_static("machinist-toy/1");
    config.headers.push((header::USER_AGENT, agent));
    config.default_retry = false;
    let toy = Toy { maps: Api::namespaced(Client::try_from(config)?, namespace), habit };
    loop {
        match toy.reconcile().await {
            Err(error) if habit == Habit::Touchy => return Err(error),
            Err(error) => tracing::debug!(%error, "reconcile failed; retrying"),
            Ok(()) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

struct Toy {
    maps: Api<ConfigMap>,
    habit: Habit,
}

impl Toy {
    async fn reconcile(&self) -> Result<()> {
        let parents = self.list("parent").await?;
        let children = self.list("child").await?;
        for parent in &parents {
            self.serve(parent, &children).await?;
        }
        for child in &children {
            let owner = child.labels().get("toy/parent");
            if !parents.iter().any(|parent| Some(&parent.name_any()) == owner) {
                self.delete(child).await?;
            }
        }
        Ok(())
    }

    async fn serve(&self, parent: &ConfigMap, children: &[ConfigMap]) -> Result<()> {
        let wanted = value(parent, "a");
        let done = parent.annotations().get("toy/done");
        let name = parent.name_any();
        let child = children.iter().find(|child| child.labels().get("toy/parent") == Some(&name));
        let made = match self.habit {
            Habit::Forgetful => done.is_some(),
            Habit::Careful | Habit::Hasty | Habit::Touchy => child.is_some(),
        };
        match child {
            _ if !made => self.create(&name, wanted).await?,
            Some(child) if value(child, "b") != wanted => {
                let version = child.resource_version();
                let patch = json!({
                    "metadata": { "resourceVersion": version }, "data": { "b": wanted },
                });
                self.patch(&child.name_any(), &patch).await?;
            }
            _ => {}
        }
        if done.map(String::as_str) != Some(wanted) {
            let patch = json!({ "metadata": { "annotations": { "toy/done": wanted } } });
            self.patch(&name, &patch).await?;
        }
        Ok(())
    }

    async fn list(&self, role: &str) -> Result<Vec<ConfigMap>> {
        let params = ListParams::default().labels(&format!("toy={role}"));
        Ok(answered(self.maps.list(&params)).await?.items)
    }

    async fn create(&self, parent: &str, value: &str) -> Result<()> {
        let mut metadata = ObjectMeta {
            labels: Some(pairs(&[("toy", "child"), ("toy/parent", parent)])),
            ..ObjectMeta::default()
        };
        match self.habit {
            Habit::Forgetful | Habit::Hasty => {
                metadata.generate_name = Some(format!("{parent}-"));
            }
            Habit::Careful | Habit::Touchy => metadata.name = Some(format!("{parent}-child")),
        }
        let child =
            ConfigMap { metadata, data: Some(pairs(&[("b", value)])), ..ConfigMap::default() };
        answered(self.maps.create(&PostParams::default(), &child)).await?;
        Ok(())
    }

    async fn patch(&self, name: &str, patch: &serde_json::Value) -> Result<()> {
        answered(self.maps.patch(name, &PatchParams::default(), &Patch::Merge(patch))).await?;
        Ok(())
    }

    async fn delete(&self, child: &ConfigMap) -> Result<()> {
        let only_this = Preconditions { uid: child.uid(), resource_version: None };
        let params = DeleteParams::default().preconditions(only_this);
        answered(self.maps.delete(&child.name_any(), &params)).await?;
        Ok(())
    }
}

async fn answered<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T> {
    Ok(tokio::time::timeout(CALL, call).await.context("no answer")??)
}

fn value<'a>(map: &'a ConfigMap, key: &str) -> &'a str {
    map.data.as_ref().and_then(|data| data.get(key)).map_or("", String::as_str)
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
