//! Where a test takes place: a namespace of its own on a real API server, and the user who creates and changes things
//! there.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::cluster;
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use super::PATIENCE;

pub(crate) const LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";
pub(crate) const CPU: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";
pub(crate) const VCPU: &str = "machine.openshift.io/vCPU";

/// Annotations, by name.
pub(crate) type Annotations = BTreeMap<String, String>;

/// A namespace and its user.
pub(crate) struct Scene {
    pub(crate) namespace: String,
    pub(crate) client: Client,
    control_plane: &'static ControlPlane,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Scene {
    /// A new namespace on plain Kubernetes.
    pub(crate) async fn plain(name: &str) -> Result<Self> {
        Self::on(crate::control_plane().await?, name, None).await
    }

    pub(super) async fn on(
        control_plane: &'static ControlPlane,
        name: &str,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Result<Self> {
        let client = control_plane.client()?;
        let namespace = cluster::namespace(&client, name).await?;
        Ok(Self { namespace, client, control_plane, _turn: turn })
    }

    /// Another new namespace beside this one.
    pub(crate) async fn another(&self, name: &str) -> Result<Self> {
        Self::on(self.control_plane, name, None).await
    }

    /// A new proxy in front of the API server.
    pub(crate) async fn proxy(&self) -> Result<Proxy> {
        Proxy::start(&self.control_plane.kube_config()).await
    }

    /// The user's own way to the API server.
    pub(crate) fn config(&self) -> kube::Config {
        self.control_plane.kube_config()
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.control_plane.kubeconfig_path()
    }

    /// MachineSets, of whatever content.
    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machine_sets())
    }

    /// Creates a MachineSet whose machines are asked for like this.
    pub(crate) async fn create(&self, name: &str, machine: Value) -> Result<()> {
        self.create_with(json!({"name": name}), machine).await
    }

    /// The same, with more metadata than a name.
    pub(crate) async fn create_with(&self, metadata: Value, machine: Value) -> Result<()> {
        let object = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": metadata,
            "spec": spec(&machine),
        }))?;
        self.sets().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Changes what machines are asked for.
    pub(crate) async fn change(&self, name: &str, machine: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": spec(&machine)}));
        self.sets().patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(crate) async fn annotations(&self, name: &str) -> Result<Annotations> {
        Ok(self.sets().get(name).await?.metadata.annotations.unwrap_or_default())
    }

    /// Waits until an annotation has this value, and returns all of them.
    pub(crate) async fn says(&self, name: &str, key: &str, value: &str) -> Result<Annotations> {
        poll::eventually(PATIENCE, &format!("{name} to say {key}={value}"), || async {
            let annotations = self.annotations(name).await?;
            ensure!(annotations.get(key).is_some_and(|now| now == value), "{annotations:?}");
            Ok(annotations)
        })
        .await
    }

    /// What Events with this reason say of a set.
    pub(crate) async fn events(&self, name: &str, reason: &str) -> Result<Vec<String>> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let about = |event: &Event| {
            event.regarding.as_ref().and_then(|object| object.name.as_deref()) == Some(name)
                && event.reason.as_deref() == Some(reason)
        };
        let mut events = events.list(&ListParams::default()).await?.items;
        events.retain(about);
        Ok(events.into_iter().filter_map(|event| event.note).collect())
    }

    /// As the API server does after an hour.
    pub(crate) async fn drop_events(&self) -> Result<()> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        events.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        Ok(())
    }

    /// Waits for an Event with this reason that contains this text.
    pub(crate) async fn hears(&self, name: &str, reason: &str, text: &str) -> Result<()> {
        poll::eventually(PATIENCE, &format!("{reason} about {name}: {text}"), || async {
            let notes = self.events(name, reason).await?;
            ensure!(notes.iter().any(|note| note.contains(text)), "{notes:?}");
            Ok(())
        })
        .await
    }

    /// Waits until machinist has patched a set so many times, and fails if it has more often. The log comes a moment
    /// after the effect.
    pub(crate) async fn patched(&self, name: &str, times: usize) -> Result<()> {
        let patches = poll::eventually(PATIENCE, &format!("{times} patches of {name}"), || async {
            let patches = self.patches(name)?;
            ensure!(patches >= times, "{patches} so far");
            Ok(patches)
        })
        .await?;
        ensure!(patches == times, "{patches} patches of {name}, {times} are enough");
        Ok(())
    }

    /// How often machinist has patched a set, as far as the log says yet.
    pub(crate) fn patches(&self, name: &str) -> Result<usize> {
        let mut entries = AuditLog::of(self.control_plane).read_new()?;
        entries.retain(|entry| {
            entry.namespace == self.namespace
                && (&*entry.resource, &*entry.verb) == ("machinesets", "patch")
                && entry.name == name
                && entry.user_agent.starts_with("machinist-")
        });
        Ok(entries.len())
    }

    /// Creates a Secret, or replaces what it says.
    pub(crate) async fn put_secret(&self, name: &str, data: &[(&str, &str)]) -> Result<()> {
        let data: BTreeMap<_, _> = data.iter().copied().collect();
        let secret: Secret =
            serde_json::from_value(json!({"metadata": {"name": name}, "stringData": data}))?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        match secrets.create(&PostParams::default(), &secret).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                secrets.replace(name, &PostParams::default(), &secret).await?;
            }
            other => drop(other?),
        }
        Ok(())
    }
}

/// A machine in a region that every account has, asked for as the process itself.
pub(crate) fn machine(instance_type: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "instanceType": instance_type,
        "placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1b"},
        "blockDevices": [{"ebs": {"volumeSize": 120}}],
    })
}

/// The same, with the credentials of a Secret.
pub(crate) fn machine_as(secret: &str, instance_type: &str) -> Value {
    let mut machine = machine(instance_type);
    machine["credentialsSecret"] = json!({"name": secret});
    machine
}

/// The pairs of the labels annotation.
pub(crate) fn pairs(annotations: &Annotations) -> BTreeMap<&str, &str> {
    let labels = annotations.get(LABELS).map_or("", String::as_str);
    labels.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

fn spec(machine: &Value) -> Value {
    json!({"replicas": 0, "selector": {}, "template": {"spec": {"providerSpec": {"value": machine}}}})
}
