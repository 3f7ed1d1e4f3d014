//! Errors about values of flags, which clap prints behind the name of the flag, and about manifests.

use std::time::Duration;

use machinist_domain::texts;

texts! {
    pub(crate) fn too_short(minimum: Duration) = "must be at least {minimum:?}";
    pub(crate) fn too_long(maximum: Duration) = "must be at most {maximum:?}";
    pub(crate) fn worker_count(value: &str) = "N must be a positive number (got {value:?})";
    pub(crate) fn not_a_bool(value: &str) = "{NOT_A_GATE} (got {value:?})";
    pub(crate) fn no_manifests(folder: &str) = "{folder}: the folder has no *.yaml, *.yml or *.json";
    pub(crate) fn duplicate_key(key: &str) = "duplicate key {key:?}";
}

pub(crate) const NEGATIVE: &str = "must not be negative";
pub(crate) const NOT_A_DURATION: &str = "must be a duration such as 30s";
pub(crate) const NOT_AN_ENDPOINT: &str = "must be http://HOST[:PORT]";
pub(crate) const NOT_A_DRAIN_TIMEOUT: &str = "must be a duration such as 30m, or never";
pub(crate) const NOT_A_SHARE: &str = "must be a share from 0% to 100%";
pub(crate) const NOT_WORKERS: &str = "must be CONTROLLER=N";

pub(crate) const NOT_MAX_PODS: &str = "must be off, eni or a number above zero";
pub(crate) const NOT_A_GATE: &str = "must be NAME=true or NAME=false";

/// What serde prints behind "expected".
pub(crate) const JSON_VALUE: &str = "a value that JSON supports";
pub(crate) const NOT_FINITE: &str = "number is not finite";

pub(crate) const RESUMABLE: &str = "run the command again to resume";

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let rows = [
            too_short(Duration::from_secs(1)),
            too_long(Duration::from_secs(60)),
            NEGATIVE.to_owned(),
            NOT_A_DURATION.to_owned(),
            NOT_AN_ENDPOINT.to_owned(),
            NOT_A_DRAIN_TIMEOUT.to_owned(),
            NOT_A_SHARE.to_owned(),
            NOT_WORKERS.to_owned(),
            worker_count("0"),
            NOT_MAX_PODS.to_owned(),
            NOT_A_GATE.to_owned(),
            not_a_bool("maybe"),
            no_manifests("manifests"),
            format!("invalid type: byte array, expected {JSON_VALUE}"),
            NOT_FINITE.to_owned(),
            duplicate_key("spec"),
            format!("interrupted; {RESUMABLE}"),
        ];
        let rows = rows.map(|text| ("stderr", "", text));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
