//! Errors about values of flags, which clap prints behind the name of the flag.

use std::time::Duration;

pub(crate) fn too_short(minimum: Duration) -> String {
    format!("must be at least {minimum:?}")
}

pub(crate) fn too_long(maximum: Duration) -> String {
    format!("must be at most {maximum:?}")
}

pub(crate) const NEGATIVE: &str = "must not be negative";
pub(crate) const NOT_AN_ENDPOINT: &str = "must be http://HOST[:PORT]";
pub(crate) const NOT_WORKERS: &str = "must be CONTROLLER=N";

pub(crate) fn worker_count(value: &str) -> String {
    format!("N must be a positive number (got {value:?})")
}

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
            NOT_AN_ENDPOINT.to_owned(),
            NOT_WORKERS.to_owned(),
            worker_count("0"),
            format!("interrupted; {RESUMABLE}"),
        ];
        let rows = rows.map(|text| ("stderr", "", text));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
