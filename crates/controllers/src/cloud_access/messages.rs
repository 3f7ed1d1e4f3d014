//! Texts about cluster settings that cloud calls need, in conditions and Events of Machines and MachineSets.

use std::fmt::Display;

use machinist_domain::key::ObjectKey;
use machinist_domain::texts;

pub(crate) const NO_REGION: &str = "placement.region: is required";
pub(crate) const NO_INFRASTRUCTURE_NAME: &str = "Infrastructure cluster has no status.infrastructureName; \
    set --cluster-id if it never gets one";
pub(crate) const PLATFORM_UNKNOWN: &str =
    "platform unknown: the provider spec of each Machine selects its provider";
pub(crate) const PLATFORM_NONE: &str = "--platform=none: Machines are not reconciled";
pub(crate) const NO_KUBE_SYSTEM: &str =
    "namespace kube-system does not exist, so the cluster has no id; set --cluster-id";

texts! {
    pub(crate) fn no_secret(key: &ObjectKey) =
        "Secret {key} does not exist; create it, or correct its name in the provider spec";
    pub(crate) fn secret_undecodable(key: &ObjectKey) = "Secret {key} cannot be decoded; recreate it";
    pub(crate) fn secret_forbidden(key: &ObjectKey) =
        "not allowed to read Secret {key}; see deploy/examples/role-credentials.yaml";
    pub(crate) fn forbidden(what: &dyn Display) =
        "not allowed to read {what}; grant the ServiceAccount get, list and watch";
    pub(crate) fn unreadable(what: &dyn Display, error: &dyn Display) = "cannot read {what}: {error}";
    pub(crate) fn undecodable(what: &dyn Display, error: &dyn Display) = "cannot decode {what}: {error}";
    pub(crate) fn other_provider(platform: &str, used: &str, provider: &str) =
        "the provider spec is for provider {provider}, but platform {platform} uses provider {used}; \
         correct its kind, or set --platform";
    pub(crate) fn no_provider_used(platform: &str) =
        "platform {platform} has no provider in this binary; use a binary that has one, or set --platform";
    pub(crate) fn no_cloud(provider: &str) = "provider {provider} has no cloud";
    pub(crate) fn platform_provider(platform: &str, provider: &str) = "platform {platform} uses provider {provider}";
    pub(crate) fn platform_without_provider(platform: &str) =
        "platform {platform} has no provider in this binary, so Machines are not reconciled; use a binary that has \
         one, or set --platform";
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;
    use machinist_domain::messages::capitalized;
    use machinist_provider::spec::SpecError;

    use super::*;

    #[test]
    fn messages() {
        let secret = ObjectKey::new("ns", "keys");
        let (config, infrastructure) = ("ConfigMap ns/kube-cloud-config", "Infrastructure cluster");
        let invalid = "InvalidConfiguration";
        let row = |reason, text: String| ("condition Ready=False", reason, capitalized(&text));
        let spec = |reason| SpecError::Invalid { reason }.to_string();
        let rows = [
            row(invalid, spec(NO_REGION.to_owned())),
            row(invalid, no_secret(&secret)),
            row(invalid, secret_undecodable(&secret)),
            row("Unauthorised", secret_forbidden(&secret)),
            row("Unauthorised", forbidden(&config)),
            row("Unavailable", unreadable(&config, &"no answer")),
            row("Unexpected", undecodable(&infrastructure, &"spec: invalid type")),
            row("Unexpected", NO_INFRASTRUCTURE_NAME.to_owned()),
            row("Unexpected", NO_KUBE_SYSTEM.to_owned()),
            row(invalid, other_provider("Cloud", "cloud", "sim")),
            row(invalid, no_provider_used("Azure")),
            row(invalid, spec(no_cloud("sim"))),
            ("log, `/readyz`", "", PLATFORM_UNKNOWN.to_owned()),
            ("log, `/readyz`", "", platform_provider("AWS", "aws")),
            ("log, `/readyz`", "", platform_without_provider("Azure")),
            ("log, `/readyz`", "", PLATFORM_NONE.to_owned()),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
