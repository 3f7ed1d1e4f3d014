//! A Lease that another program holds, as client-go keeps it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

/// At its creation.
pub const TRANSITIONS: i32 = 7;

#[derive(Debug, Clone)]
pub struct ForeignLease {
    leases: Api<Lease>,
    name: String,
    duration: Duration,
}

impl ForeignLease {
    pub async fn create(
        leases: Api<Lease>,
        name: &str,
        holder: &str,
        duration: Duration,
        renewed: &str,
    ) -> Result<Self> {
        let lease = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"owner": "foreign"}},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": duration.as_secs(),
                "leaseTransitions": TRANSITIONS,
                "acquireTime": renewed,
                "renewTime": renewed,
            },
        }))?;
        leases.create(&PostParams::default(), &lease).await?;
        Ok(Self { leases, name: name.to_owned(), duration })
    }

    pub async fn renew(&self, renewed: &str) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"renewTime": renewed}}));
        self.leases.patch(&self.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Fails if the Lease has lost its labels.
    pub async fn holder(&self) -> Result<(String, i32)> {
        let lease = self.leases.get(&self.name).await?;
        let owner = lease.labels().get("owner");
        ensure!(owner.is_some_and(|owner| owner == "foreign"), "labels are gone");
        let spec = lease.spec.unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        Ok((holder, spec.lease_transitions.unwrap_or_default()))
    }

    /// Many times within its duration.
    pub fn keep_renewing(&self, time: impl Fn() -> String + Send + 'static) -> Renewals {
        let pauses = Arc::new(Mutex::new(Pauses { last: Instant::now(), longest: Duration::ZERO }));
        let (lease, seen) = (self.clone(), Arc::clone(&pauses));
        let task = tokio::spawn(async move {
            loop {
                let begin = Instant::now();
                if lease.renew(&time()).await.is_ok() {
                    seen.lock().end(begin);
                }
                tokio::time::sleep(lease.duration / 20).await;
            }
        });
        Renewals { _task: AbortOnDropHandle::new(task), pauses, duration: self.duration }
    }
}

#[derive(Debug)]
struct Pauses {
    /// When the last successful renewal began.
    last: Instant,
    longest: Duration,
}

impl Pauses {
    /// Of a renewal that has succeeded.
    fn end(&mut self, began: Instant) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = began;
    }
}

#[derive(Debug)]
pub struct Renewals {
    _task: AbortOnDropHandle<()>,
    pauses: Arc<Mutex<Pauses>>,
    duration: Duration,
}

impl Renewals {
    /// Whether no pause was as long as the Lease lasts: on a machine that stalls, another process may take it over.
    pub fn stop(self) -> bool {
        let mut pauses = self.pauses.lock();
        pauses.end(Instant::now());
        pauses.longest < self.duration
    }
}
