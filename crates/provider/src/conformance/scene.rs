//! Helpers of the checks: machines as a controller has them, and waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use machinist_domain::key::{ObjectKey, Uid};

use super::bed::{Bed, Found};
use crate::cloud::{
    Cloud, CloudError, Deletion, Instance, InstanceState, MachineRef, ObservedInstance,
    ProviderStatus, Reach,
};

pub(super) type Checked = Result<(), String>;

pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Numbers the machines of one process; the time distinguishes processes that share a cloud.
static MACHINES: AtomicU32 = AtomicU32::new(0);

pub(super) struct Scene<'a> {
    pub(super) bed: &'a dyn Bed,
    pub(super) cloud: Arc<dyn Cloud>,
    cluster: Arc<str>,
}

pub(super) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}

pub(super) fn expect<T>(what: &str, answer: Result<T, CloudError>) -> Result<T, String> {
    answer.map_err(|error| format!("{what}: {error} ({:?}, {:?})", error.class, error.effect))
}

pub(super) fn expect_error<T>(
    what: &str,
    answer: Result<T, CloudError>,
) -> Result<CloudError, String> {
    answer.err().ok_or_else(|| format!("{what} succeeded"))
}

impl<'a> Scene<'a> {
    pub(super) fn new(bed: &'a dyn Bed, check: &str) -> Self {
        let cluster = format!("conformance-{}", check.replace('_', "-"));
        Self { bed, cloud: bed.cloud(), cluster: cluster.into() }
    }

    pub(super) fn reach(&self) -> Reach {
        Reach { access: self.bed.access(), cluster: Arc::clone(&self.cluster) }
    }

    pub(super) fn machine(&self) -> MachineRef {
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let now = jiff::Timestamp::now();
        let part = now.as_millisecond().unsigned_abs() & 0xffff_ffff_ffff;
        MachineRef {
            key: ObjectKey::new("conformance", format!("machine-{number}")),
            uid: Uid(format!("{number:08x}-0000-4000-8000-{part:012x}").into()),
            attempt: 1,
            cluster: Arc::clone(&self.cluster),
            cluster_label: None,
            access: self.bed.access(),
            spec: self.bed.good_spec(),
            provider_id: None,
            status: ProviderStatus::default(),
            created: now,
        }
    }

    pub(super) async fn prepare(&self, machine: &mut MachineRef) -> Checked {
        machine.status = expect("prepare", self.cloud.prepare(machine).await)?;
        Ok(())
    }

    pub(super) async fn prepared(&self) -> Result<MachineRef, String> {
        let mut machine = self.machine();
        self.prepare(&mut machine).await?;
        Ok(machine)
    }

    pub(super) async fn created(&self) -> Result<MachineRef, String> {
        let mut machine = self.prepared().await?;
        let instance = expect("create", self.cloud.create(&machine).await)?;
        store(&mut machine, &instance);
        Ok(machine)
    }

    pub(super) async fn observe(&self, machine: &MachineRef) -> ObservedInstance {
        let mut answers = self.cloud.describe(std::slice::from_ref(machine)).await;
        answers.pop().unwrap_or(ObservedInstance::NotAsked)
    }

    /// Describes until the instance is present and matches. Absent is a failure.
    pub(super) async fn seen(
        &self,
        machine: &MachineRef,
        fits: impl Fn(&Instance) -> bool,
    ) -> Result<Arc<Instance>, String> {
        let start = Instant::now();
        loop {
            let observed = self.observe(machine).await;
            match &observed {
                ObservedInstance::Present(instance) if fits(instance) => {
                    return Ok(Arc::clone(instance));
                }
                ObservedInstance::Absent => return Err("absent, although it was made".to_owned()),
                _ if start.elapsed() > self.bed.patience() => {
                    return Err(format!("after {:?} it is still {observed:?}", start.elapsed()));
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    pub(super) async fn running(&self, machine: &MachineRef) -> Result<Arc<Instance>, String> {
        self.seen(machine, |instance| instance.state == InstanceState::Running).await
    }

    /// Deletes until it is gone, and checks that nothing exists.
    pub(super) async fn delete(&self, machine: &MachineRef) -> Checked {
        let start = Instant::now();
        loop {
            match expect("delete", self.cloud.delete(machine).await)? {
                Deletion::Gone => break,
                Deletion::UnderWay(what) if start.elapsed() > self.bed.patience() => {
                    return Err(format!("after {:?} still under way: {what}", start.elapsed()));
                }
                Deletion::UnderWay(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        let left: Vec<Found> = self.truth(machine).await;
        let gone = left.iter().all(|found| !found.exists && found.left == 0);
        ensure(gone, || format!("said to be gone, but there is {left:?}"))
    }

    pub(super) async fn truth(&self, machine: &MachineRef) -> Vec<Found> {
        self.bed.truth(&machine.uid).await
    }

    pub(super) async fn ensure_existing(&self, machine: &MachineRef, wanted: usize) -> Checked {
        let found = self.truth(machine).await.iter().filter(|found| found.exists).count();
        ensure(found == wanted, || format!("{found} instances exist instead of {wanted}"))
    }
}

pub(super) fn store(machine: &mut MachineRef, instance: &Instance) {
    machine.status = instance.status.clone();
    machine.provider_id = Some(Arc::clone(&instance.provider_id));
}
