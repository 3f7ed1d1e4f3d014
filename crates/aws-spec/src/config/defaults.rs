//! What a spec may leave out, as the webhook of OpenShift fills it in.

use serde_json::{Map, Value, json};

use super::machine::ProviderConfig;

const USER_DATA_SECRET: &str = "worker-user-data";
const CREDENTIALS_SECRET: &str = "aws-cloud-credentials";

/// The fields that a new spec lacks, as a merge patch: whatever else the spec says stays as it is, known or not. `instance_type` is
/// what fits the cluster's architecture, `region` where the cluster is.
pub fn missing_defaults(
    config: &ProviderConfig,
    instance_type: &str,
    region: Option<&str>,
) -> Map<String, Value> {
    let mut missing = Map::new();
    let mut set = |name: &str, value: Value| missing.insert(name.to_owned(), value);
    if config.instance_type.is_empty() {
        set("instanceType", json!(instance_type));
    }
    if let Some(region) = region.filter(|_| config.placement.region.is_empty()) {
        set("placement", json!({ "region": region }));
    }
    if config.user_data_secret().is_none() {
        set("userDataSecret", json!({ "name": USER_DATA_SECRET }));
    }
    // An empty reference is an opinion: whoever writes it is to hear that the name is missing.
    if config.credentials_secret.is_none() {
        set("credentialsSecret", json!({ "name": CREDENTIALS_SECRET }));
    }
    missing
}
