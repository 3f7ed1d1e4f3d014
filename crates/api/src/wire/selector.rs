//! Label selectors as objects carry them. Whether one matches is decided elsewhere.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::lenient;

/// Which labels are meant. Both parts must hold; nothing at all means everything.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(deserialize_with = "lenient::or_default")]
    pub match_labels: BTreeMap<String, String>,
    /// Labels as these say.
    #[serde(deserialize_with = "lenient::or_default")]
    pub match_expressions: Vec<LabelExpression>,
}

/// What is asked of one label.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LabelExpression {
    /// The label.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist; kept as text, because the schema does not check it.
    pub operator: String,
    /// Of In and NotIn.
    #[serde(deserialize_with = "lenient::or_default")]
    pub values: Vec<String>,
}
