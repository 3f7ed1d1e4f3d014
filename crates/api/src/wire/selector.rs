//! Label selectors as objects carry them. Whether one matches is decided elsewhere.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::lenient;

/// Which labels are meant. Both parts must hold; nothing at all means everything.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    #[serde(deserialize_with = "lenient::or_default")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub match_expressions: Vec<LabelExpression>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LabelExpression {
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist; kept as text, because the schema does not check it.
    pub operator: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub values: Vec<String>,
}
