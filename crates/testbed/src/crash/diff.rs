use serde_json::Value;
use similar::TextDiff;

/// Empty when they are equal.
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
