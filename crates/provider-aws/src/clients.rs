//! One EC2 client per cloud access. It is dropped, with its credentials, when it is idle or its Secret has changed.

use std::sync::Arc;
use std::time::Duration;

use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::parts::Clock;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::client::Connector;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::regions::Regions;

const IDLE: Duration = Duration::from_mins(30);

pub(crate) struct Clients {
    connector: Connector,
    regions: Regions,
    clock: Clock,
    slots: Mutex<Vec<Slot>>,
}

struct Slot {
    access: CloudAccess,
    client: Arc<OnceCell<Arc<Ec2>>>,
    used: Duration,
}

impl Clients {
    pub(crate) fn new(connector: Connector, clock: Clock) -> Self {
        Self { connector, regions: Regions::new(&clock), clock, slots: Mutex::default() }
    }

    pub(crate) async fn get(&self, access: &CloudAccess) -> Result<Arc<Ec2>, AwsError> {
        let now = (self.clock)();
        let client = self.slot(access, now);
        client.get_or_try_init(async || self.connect(access).await.map(Arc::new)).await.cloned()
    }

    /// A client of its own for the caller.
    pub(crate) async fn connect(&self, access: &CloudAccess) -> Result<Ec2, AwsError> {
        self.regions.validate(access, &self.connector).await?;
        self.connector.connect(access).await
    }

    fn slot(&self, access: &CloudAccess, now: Duration) -> Arc<OnceCell<Arc<Ec2>>> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.iter_mut().find(|slot| slot.access == *access) {
            slot.used = now;
            return Arc::clone(&slot.client);
        }
        slots.retain(|slot| {
            let is_old = supersedes(&access.credentials, &slot.access.credentials);
            !is_old && now.saturating_sub(slot.used) < IDLE
        });
        let client = Arc::default();
        slots.push(Slot { access: access.clone(), client: Arc::clone(&client), used: now });
        client
    }
}

pub(crate) fn supersedes(newer: &Credentials, older: &Credentials) -> bool {
    let Credentials::Secret { key, version } = newer else { return false };
    matches!(older, Credentials::Secret { key: same, version: old } if same == key && old < version)
}
