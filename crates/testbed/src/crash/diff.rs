//! The difference of two end states as a person wants to read it.

use serde_json::Value;
use similar::TextDiff;

/// A unified diff of the two states, printed with one field per line; empty when they are equal.
pub(super) fn unified(undisturbed: &Value, disturbed: &Value) -> String {
    if undisturbed == disturbed {
        return String::new();
    }
    let (old, new) = (format!("{undisturbed:#}\n"), format!("{disturbed:#}\n"));
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(4)
        .header("undisturbed", "disturbed")
        .to_string()
}
