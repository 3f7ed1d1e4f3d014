//! What tests of several modules need.

use std::sync::Arc;
use std::time::Instant;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::cloud::{MachineRef, ProviderStatus};
use machinist_provider::metrics::NoMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::Platform;
use machinist_provider::secret::{SecretData, SecretReader};
use serde_json::value::RawValue;

use crate::groups::ambient;

struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        let (category, retry) = (Category::NotFound, Retry::OnChange);
        let failure = Failure { category, retry, message: "not found".to_owned() };
        Box::pin(std::future::ready(Err(failure)))
    }
}

/// A cluster without Secrets.
pub(crate) fn parts(platform: impl Platform + 'static) -> Parts {
    let start = Instant::now();
    Parts {
        secrets: Arc::new(NoSecrets),
        platform: Arc::new(platform),
        metrics: Arc::new(NoMetrics),
        clock: Arc::new(move || start.elapsed()),
        spawn: Arc::new(|task| drop(tokio::spawn(task))),
        timings: CloudTimings::default(),
    }
}

pub(crate) fn machine(uid: &str) -> MachineRef {
    MachineRef {
        key: ObjectKey::new("ns", uid),
        uid: Uid(uid.into()),
        attempt: 1,
        cluster: "c1".into(),
        cluster_label: None,
        access: ambient(),
        spec: RawValue::from_string("{}".to_owned()).unwrap().into(),
        provider_id: None,
        status: ProviderStatus::default(),
        created: jiff::Timestamp::UNIX_EPOCH,
    }
}
