//! Which Events count; compiled once per spec.

use machinist_api::event_recycler::EventRecyclerSpec;
use machinist_api::event_recycler::spec::{EventKind, InvolvedKind, MessagePattern};
use regex_lite::{Regex, RegexBuilder};

use crate::kinds::{EventDetails, Involved};
use crate::recycler::error::Refusal;

const LARGEST: usize = 1 << 20;

#[derive(Debug, Clone)]
pub struct Pattern {
    /// The message contains one of these.
    terms: Vec<String>,
    messages: Vec<Message>,
    reasons: Vec<String>,
    kind: Option<&'static str>,
    involved: Vec<InvolvedKind>,
    namespaces: Vec<String>,
    reporters: Vec<String>,
}

#[derive(Debug, Clone)]
enum Message {
    Contains(String),
    Fits(Regex),
}

impl Pattern {
    pub fn read(spec: &EventRecyclerSpec) -> Result<Self, Refusal> {
        let terms = spec.search_terms.clone().unwrap_or_default();
        if terms.iter().any(String::is_empty) {
            return Err(Refusal::EmptyTerm);
        }
        let matching = spec.matching.clone().unwrap_or_default();
        let messages = matching.message.unwrap_or_default();
        let pattern = Self {
            terms,
            messages: messages.into_iter().map(message).collect::<Result<_, _>>()?,
            reasons: matching.reason.unwrap_or_default(),
            kind: matching.kind.map(|kind| match kind {
                EventKind::Normal => "Normal",
                EventKind::Warning => "Warning",
            }),
            involved: matching.involved_kinds.unwrap_or_default(),
            namespaces: matching.namespaces.unwrap_or_default(),
            reporters: matching.reporters.unwrap_or_default(),
        };
        let Self { terms, messages, reasons, kind, involved, namespaces, reporters } = &pattern;
        let no_text = terms.is_empty() && messages.is_empty() && reasons.is_empty();
        let no_object = involved.is_empty() && namespaces.is_empty();
        if no_text && kind.is_none() && no_object && reporters.is_empty() {
            return Err(Refusal::NothingToLookFor);
        }
        Ok(pattern)
    }

    pub fn fits(&self, event: &EventDetails) -> bool {
        let (involved, namespace) = match &event.involved {
            Involved::Pod { namespace, .. } => (InvolvedKind::Pod, &**namespace),
            Involved::Node(_) => (InvolvedKind::Node, ""),
        };
        // The cheapest checks come first.
        self.kind.is_none_or(|kind| *event.kind == *kind)
            && is_one_of(&self.involved, |one| *one == involved)
            && is_one_of(&self.reasons, |one| **one == *event.reason)
            && is_one_of(&self.namespaces, |one| *one == namespace)
            && is_one_of(&self.reporters, |one| **one == *event.reporter)
            && is_one_of(&self.terms, |term| event.message.contains(term.as_str()))
            && is_one_of(&self.messages, |message| match message {
                Message::Contains(text) => event.message.contains(text.as_str()),
                Message::Fits(regex) => regex.is_match(&event.message),
            })
    }
}

/// Whether one entry holds; an empty list always does.
fn is_one_of<T>(list: &[T], holds: impl Fn(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

fn message(pattern: MessagePattern) -> Result<Message, Refusal> {
    match (pattern.contains, pattern.regex) {
        (Some(text), None) if !text.is_empty() => Ok(Message::Contains(text)),
        (None, Some(text)) => {
            let built = RegexBuilder::new(&text).size_limit(LARGEST).build();
            built.map(Message::Fits).map_err(|_| Refusal::Pattern(text))
        }
        (contains, regex) => Err(Refusal::Pattern(contains.or(regex).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pattern(spec: Value) -> Result<Pattern, Refusal> {
        Pattern::read(&serde_json::from_value(spec).unwrap())
    }

    fn event(message: &str, reason: &str, kind: &str, namespace: &str) -> EventDetails {
        let involved = Involved::Pod { namespace: namespace.into(), name: "p".into(), uid: None };
        let message = message.into();
        EventDetails {
            message,
            reason: reason.into(),
            kind: kind.into(),
            reporter: "kubelet".into(),
            involved,
            host: None,
            first: 0,
            last: 0,
        }
    }

    fn on_node(message: &str) -> EventDetails {
        EventDetails { involved: Involved::Node("n".into()), ..event(message, "R", "Warning", "") }
    }

    #[test]
    fn a_term_matches_a_part_of_the_message() {
        let pattern = pattern(json!({"searchTerms": ["no space", "PID"]})).unwrap();
        for (message, fits) in
            [("no space left", true), ("out of PIDs", true), ("No Space", false), ("", false)]
        {
            assert_eq!(
                pattern.fits(&event(message, "no space", "Warning", "ns")),
                fits,
                "{message}"
            );
        }
        assert!(pattern.fits(&on_node("no space")));
    }

    #[test]
    fn all_criteria_must_hold() {
        let pattern = pattern(json!({
            "searchTerms": ["disk"],
            "match": {
                "message": [{"regex": "disk [0-9]+ "}, {"contains": "broken"}], "reason": ["A", "B"], "type": "Warning",
                "involvedKinds": ["Pod"], "namespaces": ["x", "y"],
            },
        }))
        .unwrap();
        assert!(pattern.fits(&event("disk 12 is bad", "A", "Warning", "y")));
        assert!(pattern.fits(&event("broken disk", "B", "Warning", "x")));
        for (message, reason, kind, namespace) in [
            ("disk is bad", "A", "Warning", "y"),
            ("broken", "A", "Warning", "y"),
            ("broken disk", "C", "Warning", "y"),
            ("broken disk", "A", "Normal", "y"),
            ("broken disk", "A", "Warning", "z"),
        ] {
            assert!(!pattern.fits(&event(message, reason, kind, namespace)), "{message}");
        }
        assert!(!pattern.fits(&on_node("broken disk")));
    }

    #[test]
    fn a_reporter_can_be_demanded() {
        let demand = |reporters: Value| {
            pattern(json!({"searchTerms": ["bad"], "match": {"reporters": reporters}})).unwrap()
        };
        let kubelet = event("bad", "R", "Warning", "ns");
        let other = EventDetails { reporter: "team-a".into(), ..kubelet.clone() };
        let none = EventDetails { reporter: "".into(), ..kubelet.clone() };
        let both = demand(json!(["kubelet", "node-problem-detector"]));
        assert!(both.fits(&kubelet) && !both.fits(&other) && !both.fits(&none));
        let any = demand(Value::Null);
        assert!(any.fits(&kubelet) && any.fits(&other) && any.fits(&none));
    }

    #[test]
    fn empty_and_invalid_patterns_are_refused() {
        for spec in [json!({}), json!({"match": {}}), json!({"match": {"reason": []}})] {
            assert_eq!(pattern(spec).unwrap_err(), Refusal::NothingToLookFor);
        }
        for regex in ["(", "a{99999999}"] {
            let refusal = pattern(json!({"match": {"message": [{ "regex": regex }]}})).unwrap_err();
            assert_eq!(refusal, Refusal::Pattern(regex.to_owned()));
        }
    }
}
