//! EC2: one moto for all tests, a front for each, and what the front heard.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use machinist_testbed::aws::{AwsBed, Call, Moto, Transport};
use tokio::sync::OnceCell;

/// The question that matters.
pub(crate) const TYPES: &str = "DescribeInstanceTypes";

static MOTO: OnceCell<Arc<Moto>> = OnceCell::const_new();

/// A front of its own.
pub(crate) async fn cloud() -> Result<AwsBed> {
    cloud_over(Transport::Plain).await
}

/// A front of its own that is reached this way.
pub(crate) async fn cloud_over(transport: Transport) -> Result<AwsBed> {
    let moto = MOTO.get_or_try_init(async || anyhow::Ok(Arc::new(Moto::start().await?))).await?;
    AwsBed::start_before(Arc::clone(moto), transport).await
}

/// The types that a call asks about.
pub(crate) fn types_of(call: &Call) -> BTreeSet<&str> {
    let values = call.parameters.iter().filter(|(name, _)| name.starts_with("Filter.1.Value"));
    values.map(|(_, value)| value.as_str()).collect()
}

/// Who asked about a type, in the order of the questions.
pub(crate) fn askers(cloud: &AwsBed, instance_type: &str) -> Vec<String> {
    let mut calls = cloud.front().calls_of(TYPES);
    calls.retain(|call| types_of(call).contains(instance_type));
    calls.into_iter().map(|call| call.access_key_id).collect()
}
