//! A [`World`] whose user creates and changes what machinist asks EC2 about.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use machinist_testbed::audit::AuditLog;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

pub(crate) const LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";
pub(crate) const CPU: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";
pub(crate) const VCPU: &str = "machine.openshift.io/vCPU";

/// Annotations, by name.
pub(crate) type Annotations = BTreeMap<String, String>;

/// A world on an API server that tests share.
pub(crate) struct Ec2World {
    world: World,
    control_plane: &'static ControlPlane,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Deref for Ec2World {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Ec2World {
    /// On plain Kubernetes.
    pub(crate) async fn plain(name: &str) -> Result<Self> {
        Self::on(crate::control_plane().await?, name, None).await
    }

    pub(super) async fn on(
        control_plane: &'static ControlPlane,
        name: &str,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Result<Self> {
        let world = World::new(&control_plane.kube_config(), name).await?;
        Ok(Self { world, control_plane, _turn: turn })
    }

    /// Another one beside this one.
    pub(crate) async fn another(&self, name: &str) -> Result<Self> {
        Self::on(self.control_plane, name, None).await
    }

    pub(crate) fn control_plane(&self) -> &'static ControlPlane {
        self.control_plane
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.control_plane.kubeconfig_path()
    }

    /// Creates a MachineSet whose machines are asked for like this.
    pub(crate) async fn create(&self, name: &str, machine: Value) -> Result<()> {
        self.create_with(name, json!({}), machine).await
    }

    /// The same, with more metadata than a name.
    pub(crate) async fn create_with(
        &self,
        name: &str,
        metadata: Value,
        machine: Value,
    ) -> Result<()> {
        self.create_machine_set(name, metadata, spec(&machine)).await?;
        Ok(())
    }

    /// Changes what machines are asked for.
    pub(crate) async fn change(&self, name: &str, machine: Value) -> Result<()> {
        self.patch_set(name, json!({"spec": spec(&machine)})).await
    }

    pub(crate) async fn annotations(&self, name: &str) -> Result<Annotations> {
        Ok(self.sets().get(name).await?.metadata.annotations.unwrap_or_default())
    }

    /// Waits until an annotation has this value, and returns all of them.
    pub(crate) async fn until_annotated(
        &self,
        name: &str,
        key: &str,
        value: &str,
    ) -> Result<Annotations> {
        self.eventually(&format!("{name} to say {key}={value}"), || async {
            let annotations = self.annotations(name).await?;
            ensure!(annotations.get(key).is_some_and(|now| now == value), "{annotations:?}");
            Ok(annotations)
        })
        .await
    }

    /// Waits for an Event with this reason that contains this text.
    pub(crate) async fn hears(&self, name: &str, reason: &str, text: &str) -> Result<()> {
        self.eventually(&format!("{reason} about {name}: {text}"), || async {
            let notes = self.event_notes(name, reason).await?;
            ensure!(notes.iter().any(|note| note.contains(text)), "{notes:?}");
            Ok(())
        })
        .await
    }

    /// Waits until machinist has patched a set so many times, and fails if it has more often. The log comes a moment
    /// after the effect.
    pub(crate) async fn patched(&self, name: &str, times: usize) -> Result<()> {
        let patches = self
            .eventually(&format!("{times} patches of {name}"), || async {
                let patches = self.patches(name)?;
                ensure!(patches >= times, "{patches} so far");
                Ok(patches)
            })
            .await?;
        ensure!(patches == times, "{patches} patches of {name}, {times} are enough");
        Ok(())
    }

    /// How often machinist has patched a set, as far as the log has it yet.
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

    /// Creates a Secret, or replaces its data.
    pub(crate) async fn put_secret(&self, name: &str, data: &[(&str, &str)]) -> Result<()> {
        let data: BTreeMap<_, _> = data.iter().copied().collect();
        let secret: Secret =
            serde_json::from_value(json!({"metadata": {"name": name}, "stringData": data}))?;
        let secrets: Api<Secret> = self.api();
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
