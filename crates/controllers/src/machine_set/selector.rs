//! Label selectors: parse, validate, match, and the text form of the scale subresource. All requirements must hold;
//! `NotIn` and `DoesNotExist` match a missing label. An empty selector would match everything and is rejected.

use std::fmt;

use machinist_api::wire;
use machinist_domain::labels::{is_label_key, is_label_value};
use machinist_domain::pairs::Pairs;

/// A label selector; never empty, always valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Box<[Requirement]>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: Box<str>,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Equals(Box<str>),
    In(Box<[Box<str>]>),
    NotIn(Box<[Box<str>]>),
    Exists,
    DoesNotExist,
}

/// Why a selector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    Empty,
    BadKey(String),
    BadValue(String, String),
    BadOperator(String, String),
    BadCount(String, String),
}

impl Selector {
    /// Parses and validates a selector.
    pub fn read(wire: &wire::LabelSelector) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in &wire.match_labels {
            let test = Test::Equals(checked_value(key, value)?);
            requirements.push(Requirement { key: checked_key(key)?, test });
        }
        for expression in &wire.match_expressions {
            requirements.push(Requirement {
                key: checked_key(&expression.key)?,
                test: Test::read(expression)?,
            });
        }
        if requirements.is_empty() {
            return Err(SelectorError::Empty);
        }
        // Stable, so that the text is the same for the same object.
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self(requirements.into()))
    }

    /// Whether an object with these labels matches.
    pub fn matches(&self, labels: &Pairs) -> bool {
        self.matches_by(|name| labels.get(name))
    }

    /// Whether every object that this selector matches also matches the other one: it has the same requirements.
    pub fn implies(&self, other: &Self) -> bool {
        other.0.iter().all(|requirement| self.0.contains(requirement))
    }

    /// Whether an object whose labels `get` returns matches.
    pub fn matches_by<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| requirement.test.holds(get(&requirement.key)))
    }
}

impl Test {
    fn read(wire: &wire::LabelExpression) -> Result<Self, SelectorError> {
        let (key, operator) = (wire.key.clone(), wire.operator.clone());
        let values = || -> Result<Box<[Box<str>]>, SelectorError> {
            let values = wire.values.iter().map(|value| checked_value(&wire.key, value));
            let mut values = values.collect::<Result<Vec<_>, _>>()?;
            values.sort();
            values.dedup();
            Ok(values.into())
        };
        match (operator.as_str(), wire.values.is_empty()) {
            ("In", false) => Ok(Self::In(values()?)),
            ("NotIn", false) => Ok(Self::NotIn(values()?)),
            ("Exists", true) => Ok(Self::Exists),
            ("DoesNotExist", true) => Ok(Self::DoesNotExist),
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {
                Err(SelectorError::BadCount(key, operator))
            }
            _ => Err(SelectorError::BadOperator(key, operator)),
        }
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let among = |values: &[Box<str>]| {
            value.is_some_and(|value| values.iter().any(|one| **one == *value))
        };
        match self {
            Self::Equals(wanted) => value == Some(&**wanted),
            Self::In(values) => among(values),
            Self::NotIn(values) => !among(values),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
        }
    }
}

/// The form of `kubectl get -l` and `status.labelSelector`.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Requirement { key, test }) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match test {
                Test::Equals(value) => write!(f, "{key}={value}")?,
                Test::In(values) => write!(f, "{key} in ({})", values.join(","))?,
                Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(","))?,
                Test::Exists => f.write_str(key)?,
                Test::DoesNotExist => write!(f, "!{key}")?,
            }
        }
        Ok(())
    }
}

fn checked_key(key: &str) -> Result<Box<str>, SelectorError> {
    if is_label_key(key) { Ok(key.into()) } else { Err(SelectorError::BadKey(key.to_owned())) }
}

fn checked_value(key: &str, value: &str) -> Result<Box<str>, SelectorError> {
    if value.is_empty() || is_label_value(value) {
        Ok(value.into())
    } else {
        Err(SelectorError::BadValue(key.to_owned(), value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<Selector, SelectorError> {
        Selector::read(&serde_json::from_value(value).unwrap())
    }

    fn expression(operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]})
    }

    #[test]
    fn matches_requirements_as_kubernetes_does() {
        let (web, db) = (Pairs::from([("tier", "web")]), Pairs::from([("tier", "db")]));
        let none = Pairs::default();
        for (selector, expected) in [
            (json!({"matchLabels": {"tier": "web"}}), [true, false, false]),
            (expression("In", &["web", "db"]), [true, true, false]),
            (expression("NotIn", &["web"]), [false, true, true]),
            (expression("Exists", &[]), [true, true, false]),
            (expression("DoesNotExist", &[]), [false, false, true]),
        ] {
            let read = read(selector.clone()).unwrap();
            assert_eq!(
                [&web, &db, &none].map(|labels| read.matches(labels)),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn every_requirement_must_hold() {
        let selector = read(json!({"matchLabels": {"a": "1", "b": "2"}})).unwrap();
        assert!(selector.matches(&Pairs::from([("a", "1"), ("b", "2"), ("c", "3")])));
        assert!(!selector.matches(&Pairs::from([("a", "1")])));
    }

    #[test]
    fn prints_what_kubectl_accepts() {
        let text = |value| read(value).unwrap().to_string();
        assert_eq!(text(json!({"matchLabels": {"b": "2", "a/x": ""}})), "a/x=,b=2");
        assert_eq!(text(expression("In", &["web", "db", "web"])), "tier in (db,web)");
        assert_eq!(text(expression("NotIn", &["x"])), "tier notin (x)");
        assert_eq!(text(expression("Exists", &[])), "tier");
        assert_eq!(text(expression("DoesNotExist", &[])), "!tier");
    }

    #[test]
    fn rejects_invalid_selectors_with_the_reason() {
        let long = "x".repeat(64);
        for (selector, text) in [
            (json!({}), "empty"),
            (json!({"matchLabels": {}, "matchExpressions": []}), "empty"),
            (json!({"matchLabels": {"-a": "1"}}), "\"-a\" is not a valid label key"),
            (json!({"matchLabels": {"Up.per/a": "1"}}), "\"Up.per/a\" is not a valid"),
            (json!({"matchLabels": {"a/b/c": "1"}}), "\"a/b/c\" is not a valid"),
            (json!({"matchLabels": {long: "1"}}), "is not a valid label key"),
            (json!({"matchLabels": {"a": "b c"}}), "\"b c\" is not a valid value of label a"),
            (expression("Gt", &["1"]), "operator \"Gt\" of label tier"),
            (expression("In", &[]), "wrong number of values"),
            (expression("Exists", &["1"]), "wrong number of values"),
        ] {
            let error = read(selector.clone()).unwrap_err().to_string();
            assert!(
                error.starts_with("spec.selector") && error.contains(text),
                "{selector}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn opposites_are_opposites(
            value in proptest::option::of("[a-c]"),
            listed in proptest::collection::vec("[a-c]", 1..4),
        ) {
            let holds = |operator: &str, values: &[String]| {
                let wire = wire::LabelSelector {
                    match_expressions: vec![wire::LabelExpression {
                        key: "k".into(),
                        operator: operator.into(),
                        values: values.to_vec(),
                    }],
                    ..wire::LabelSelector::default()
                };
                Selector::read(&wire).unwrap().matches_by(|_| value.as_deref())
            };
            prop_assert_ne!(holds("In", &listed), holds("NotIn", &listed));
            prop_assert_ne!(holds("Exists", &[]), holds("DoesNotExist", &[]));
        }

        #[test]
        fn accepted_selectors_print_unambiguously(key in ".{0,8}", value in ".{0,8}") {
            if let Ok(selector) = read(json!({"matchLabels": {key.clone(): value.clone()}})) {
                prop_assert_eq!(selector.to_string(), format!("{key}={value}"));
                prop_assert!(!selector.to_string().contains([',', ' ', '(', ')', '!']));
            }
        }
    }

    #[test]
    fn a_selector_with_the_same_requirements_implies_another_one() {
        let labels = |labels: Value| read(json!({ "matchLabels": labels })).unwrap();
        let (one, both) = (labels(json!({"a": "b"})), labels(json!({"a": "b", "c": "d"})));
        assert!(both.implies(&one) && one.implies(&one));
        assert!(!one.implies(&both) && !labels(json!({"a": "x", "c": "d"})).implies(&one));
    }
}
