//! Messages of the validation rules in the CRDs, which `kubectl apply` prints behind the path of the field.

pub(crate) const AUTHORITY: &str = "authoritativeAPI changes only by way of Migrating";
pub(crate) const AUTHORITY_REMOVED: &str = "authoritativeAPI must not be removed once it is set";
pub(crate) const GENERATION: &str =
    "synchronizedGeneration must not decrease, except at the end of a migration";
pub(crate) const NO_TERMS: &str = "searchTerms or match must be set";
pub(crate) const PATTERN: &str = "exactly one of contains and regex must be set";
pub(crate) const REGEX: &str = "regex must be a valid regular expression (RE2 syntax)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let rows = [
            ("status.authoritativeAPI", AUTHORITY),
            ("status", AUTHORITY_REMOVED),
            ("status.synchronizedGeneration", GENERATION),
            ("spec of an EventRecycler", NO_TERMS),
            ("spec.match.message[]", PATTERN),
            ("spec.match.message[]", REGEX),
        ];
        let rows = rows.map(|(field, text)| format!("| `kubectl apply` | `{field}` | {text} |\n"));
        let table = ["| where | reason | message |\n|---|---|---|\n", &rows.concat()].concat();
        insta::assert_snapshot!("messages", table);
    }
}
