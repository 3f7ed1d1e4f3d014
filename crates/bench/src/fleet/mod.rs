//! Fleets of the same size differ only in their namespaces. Names are unique over both, so a recorded write finds its
//! object in any other fleet.

mod machine_set;

use std::collections::HashMap;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use machinist_api::names;
use machinist_api::resource::{EVENTS, MACHINE_SETS, SECRETS};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::raw::{Bare, Outgoing};

/// Creating is no part of any measurement.
const CONCURRENCY: usize = 64;
const AT_ONCE: usize = 200;
/// Two, so that there is more than one identity to ask EC2 as.
const NAMESPACES: usize = 2;

const ANNOTATIONS: [&str; 5] = [
    names::ANNOTATION_VCPU,
    names::ANNOTATION_MEMORY,
    names::ANNOTATION_GPU,
    names::ANNOTATION_CAPACITY_LABELS,
    names::ANNOTATION_CAPACITY_CPU,
];

#[derive(Debug)]
pub(crate) struct Fleet {
    namespaces: [String; NAMESPACES],
    members: HashMap<String, Member>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    #[serde(default)]
    pub(crate) annotations: HashMap<String, String>,
}

impl Member {
    pub(crate) fn is_annotated(&self) -> bool {
        ANNOTATIONS.iter().all(|name| self.metadata.annotations.contains_key(*name))
    }
}

impl Fleet {
    /// `number` makes the namespaces different from those of other fleets.
    pub(crate) async fn create(setup: &Bare, number: u32, count: usize) -> Result<Self> {
        let namespaces = ["a", "b"].map(|which| format!("bench-{number}-{which}"));
        for namespace in &namespaces {
            create_namespace(setup, namespace).await?;
        }
        let requests = (0..count).map(|number| {
            let namespace = &namespaces[machine_set::namespace(number, NAMESPACES)];
            let path = MACHINE_SETS.collection_path(Some(namespace));
            Outgoing::create(path, &machine_set::machine_set(number))
        });
        let answers = setup.send_all(requests.collect(), CONCURRENCY).await?;
        let members = answers.iter().map(|answer| {
            let member: Member = serde_json::from_slice(answer).context("not a MachineSet")?;
            Ok((member.metadata.name.clone(), member))
        });
        Ok(Self { members: members.collect::<Result<_>>()?, namespaces })
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespaces[0]
    }

    pub(crate) fn member(&self, name: &str) -> Result<&Member> {
        self.members.get(name).with_context(|| format!("{name} was not created"))
    }

    pub(crate) async fn now(&self, setup: &Bare) -> Result<HashMap<String, Member>> {
        let mut members = HashMap::new();
        for namespace in &self.namespaces {
            let path = MACHINE_SETS.collection_path(Some(namespace));
            let found: Vec<Member> = setup.list(path).await?;
            members.extend(found.into_iter().map(|member| (member.metadata.name.clone(), member)));
        }
        Ok(members)
    }

    pub(crate) async fn events(&self, setup: &Bare) -> Result<HashMap<String, Value>> {
        let name =
            |event: &Value| event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut events = HashMap::new();
        for namespace in &self.namespaces {
            let found: Vec<Value> = setup.list(EVENTS.collection_path(Some(namespace))).await?;
            events.extend(found.into_iter().map(|event| (name(&event), event)));
        }
        Ok(events)
    }

    /// Every measurement must find the API server with equally much to hold.
    pub(crate) async fn delete(self, setup: &Bare) -> Result<()> {
        let resources = [MACHINE_SETS, EVENTS, SECRETS];
        let paths = self.namespaces.iter().flat_map(|namespace| {
            resources.map(|resource| resource.collection_path(Some(namespace)))
        });
        try_join_all(paths.map(|path| delete_all(setup, path))).await?;
        Ok(())
    }
}

/// Some at a time: a request that takes longer than a minute is broken off.
async fn delete_all(setup: &Bare, path: String) -> Result<()> {
    loop {
        setup.send(Outgoing::delete(format!("{path}?limit={AT_ONCE}"))).await?;
        let left: Vec<Value> = setup.list(format!("{path}?limit=1")).await?;
        if left.is_empty() {
            return Ok(());
        }
    }
}

/// moto takes any credentials.
async fn create_namespace(setup: &Bare, name: &str) -> Result<()> {
    setup.create_namespace(name).await?;
    let body = json!({
        "apiVersion": SECRETS.api_version(),
        "kind": SECRETS.kind,
        "metadata": {"name": machine_set::SECRET},
        "stringData": {"aws_access_key_id": "AKIABENCH", "aws_secret_access_key": "bench"},
    });
    setup.send(Outgoing::create(SECRETS.collection_path(Some(name)), &body)).await?;
    Ok(())
}
