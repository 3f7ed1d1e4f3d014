//! One client for each realm that machines are in.
//!
//! A client is made when it is needed first, by one caller while the others wait; one that nobody uses any more, or whose Secret has changed,
//! goes, and its credentials with it.

use std::sync::Arc;
use std::time::Duration;

use machinist_provider::capacity::{Credentials, Realm};
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
    realm: Realm,
    client: Arc<OnceCell<Arc<Ec2>>>,
    used: Duration,
}

impl Clients {
    pub(crate) fn new(connector: Connector, clock: Clock) -> Self {
        Self { connector, regions: Regions::new(&clock), clock, slots: Mutex::default() }
    }

    /// The client of this realm.
    pub(crate) async fn get(&self, realm: &Realm) -> Result<Arc<Ec2>, AwsError> {
        let now = (self.clock)();
        let client = self.slot(realm, now);
        let connect = async || {
            self.regions.validate(realm, &self.connector).await?;
            self.connector.connect(realm).await.map(Arc::new)
        };
        client.get_or_try_init(connect).await.cloned()
    }

    fn slot(&self, realm: &Realm, now: Duration) -> Arc<OnceCell<Arc<Ec2>>> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.iter_mut().find(|slot| slot.realm == *realm) {
            slot.used = now;
            return Arc::clone(&slot.client);
        }
        slots.retain(|slot| {
            let is_old = supersedes(&realm.credentials, &slot.realm.credentials);
            !is_old && now.saturating_sub(slot.used) < IDLE
        });
        let client = Arc::default();
        slots.push(Slot { realm: realm.clone(), client: Arc::clone(&client), used: now });
        client
    }
}

/// Whether one is a newer version of the other.
fn supersedes(newer: &Credentials, older: &Credentials) -> bool {
    match (newer, older) {
        (
            Credentials::Secret { key, version },
            Credentials::Secret { key: same, version: before },
        ) => key == same && version > before,
        _ => false,
    }
}
