//! What the schema says beyond types: durations, times of day, patterns, and that something must be looked for.

use serde_json::{Value, json};

use crate::messages;

/// A duration in Go's words, such as `90s` or `1h30m`.
pub(super) fn duration(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "maxLength": 32,
        "pattern": r"^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$",
    })
}

/// A time of day, such as `07:30`. `24:00` is the end of the day.
pub(super) fn time_of_day(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "pattern": r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$",
    })
}

/// UTC or an offset from it. Names of places would need a database of their rules in every image.
pub(super) fn time_zone(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "pattern": r"^(UTC|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
    })
}

/// Something must be looked for, in the old words or in the new ones.
pub(super) fn spec_rules() -> Value {
    json!([{
        "rule": "has(self.searchTerms) || has(self.match)",
        "message": messages::NO_TERMS,
    }])
}

/// A pattern is one or the other, and a regular expression can be compiled.
pub(super) fn pattern_rules() -> Value {
    json!([
        {
            "rule": "has(self.contains) != has(self.regex)",
            "message": messages::PATTERN,
        },
        {
            // What cannot be compiled is an error of the rule, which refuses the object and says why.
            "rule": "!has(self.regex) || ''.matches(self.regex) in [true, false]",
            "message": messages::REGEX,
        },
    ])
}
