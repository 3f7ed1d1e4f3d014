//! Texts about cluster settings that cloud calls need, in conditions and Events of Machines and MachineSets.

use std::fmt::Display;

use machinist_domain::key::ObjectKey;

pub(crate) const NO_REGION: &str = "placement.region is missing";
pub(crate) const NO_INFRASTRUCTURE_NAME: &str = "Infrastructure cluster has no status.infrastructureName; \
    set --cluster-id if it never gets one";
pub(crate) const NO_KUBE_SYSTEM: &str =
    "namespace kube-system does not exist, so the cluster has no id; set --cluster-id";

pub(crate) fn no_secret(key: &ObjectKey) -> String {
    format!("Secret {key} does not exist")
}

pub(crate) fn secret_undecodable(key: &ObjectKey) -> String {
    format!("Secret {key} cannot be decoded; recreate it")
}

pub(crate) fn secret_forbidden(key: &ObjectKey) -> String {
    format!("not allowed to read Secret {key}; see deploy/examples/role-credentials.yaml")
}

pub(crate) fn forbidden(what: &dyn Display) -> String {
    format!("not allowed to read {what}; grant get, list and watch")
}

pub(crate) fn unreadable(what: &dyn Display, error: &dyn Display) -> String {
    format!("cannot read {what}: {error}")
}

pub(crate) fn undecodable(what: &dyn Display, error: &dyn Display) -> String {
    format!("cannot decode {what}: {error}")
}

pub(crate) fn other_provider(platform: &str, used: &str, provider: &str) -> String {
    format!("platform {platform} uses provider {used}, not {provider}")
}

pub(crate) fn no_provider_used(platform: &str) -> String {
    format!("no provider is used on platform {platform}")
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;
    use machinist_domain::messages::capitalized;

    use super::*;

    #[test]
    fn messages() {
        let secret = ObjectKey::new("ns", "keys");
        let (config, infrastructure) =
            ("configmaps ns/kube-cloud-config", "infrastructures cluster");
        let invalid = "InvalidConfiguration";
        let row = |reason, text: String| ("condition Ready=False", reason, capitalized(&text));
        let rows = [
            row(invalid, NO_REGION.to_owned()),
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
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
