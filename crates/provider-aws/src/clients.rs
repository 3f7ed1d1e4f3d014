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
    /// The endpoint of STS: its client is part of the credentials.
    sts: Option<Arc<str>>,
    client: Arc<OnceCell<Arc<Ec2>>>,
    used: Duration,
}

impl Clients {
    pub(crate) fn new(connector: Connector, clock: Clock) -> Self {
        Self { connector, regions: Regions::new(&clock), clock, slots: Mutex::default() }
    }

    pub(crate) async fn get(&self, access: &CloudAccess) -> Result<Arc<Ec2>, AwsError> {
        // If it cannot be read and is needed, connecting fails.
        let sts = self.connector.sts_endpoint().await.ok().flatten();
        let client = self.slot(access, sts, (self.clock)());
        client.get_or_try_init(async || self.connect(access).await.map(Arc::new)).await.cloned()
    }

    /// A client of its own for the caller.
    pub(crate) async fn connect(&self, access: &CloudAccess) -> Result<Ec2, AwsError> {
        self.regions.validate(access, &self.connector).await?;
        self.connector.connect(access).await
    }

    fn slot(
        &self,
        access: &CloudAccess,
        sts: Option<Arc<str>>,
        now: Duration,
    ) -> Arc<OnceCell<Arc<Ec2>>> {
        let mut slots = self.slots.lock();
        let is_it = |slot: &&mut Slot| slot.access == *access && slot.sts == sts;
        if let Some(slot) = slots.iter_mut().find(is_it) {
            slot.used = now;
            return Arc::clone(&slot.client);
        }
        slots.retain(|slot| {
            let is_old = supersedes(&access.credentials, &slot.access.credentials);
            !is_old && now.saturating_sub(slot.used) < IDLE
        });
        let client = Arc::default();
        let slot = Slot { access: access.clone(), sts, client: Arc::clone(&client), used: now };
        slots.push(slot);
        client
    }
}

pub(crate) fn supersedes(newer: &Credentials, older: &Credentials) -> bool {
    let Credentials::Secret { key, version } = newer else { return false };
    matches!(older, Credentials::Secret { key: same, version: old } if same == key && old < version)
}
