//! A sample and what is changed in it: values of a JSON document first, then bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

const LARGEST: usize = 256 * 1024;
/// Deeper than any parser should follow by recursion.
const DEEP: u16 = 300;

#[derive(Debug, Clone)]
pub(super) struct Input {
    sample: Index,
    values: Vec<(Index, ValueChange)>,
    bytes: Vec<(Index, ByteChange)>,
}

#[derive(Debug, Clone)]
enum ValueChange {
    Replace(Odd),
    Remove,
    /// A field gets this name; others, an element of this value.
    Add(String, Odd),
    /// An array, so many times in another.
    Nest(u16),
    Repeat(u16),
}

#[derive(Debug, Clone)]
enum ByteChange {
    Flip(u8),
    Insert(Vec<u8>),
    Remove(u16),
    Truncate,
    Repeat(u16),
}

/// Values at which parsers and arithmetic fail.
#[derive(Debug, Clone)]
enum Odd {
    Json(Value),
    Text(String),
    Long(u16),
}

impl Odd {
    fn value(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Long(length) => Value::from("ä".repeat(usize::from(*length))),
        }
    }
}

pub(super) fn input() -> impl Strategy<Value = Input> {
    let values = vec((any::<Index>(), value_change()), 0..4);
    let bytes = prop_oneof![3 => Just(Vec::new()), 1 => vec((any::<Index>(), byte_change()), 1..3)];
    let all = (any::<Index>(), values, bytes);
    all.prop_map(|(sample, values, bytes)| Input { sample, values, bytes })
}

fn value_change() -> impl Strategy<Value = ValueChange> {
    prop_oneof![
        6 => odd().prop_map(ValueChange::Replace),
        2 => Just(ValueChange::Remove),
        2 => ("[ -~]{0,12}", odd()).prop_map(|(name, odd)| ValueChange::Add(name, odd)),
        1 => (1..DEEP).prop_map(ValueChange::Nest),
        1 => (1..500_u16).prop_map(ValueChange::Repeat),
    ]
}

fn byte_change() -> impl Strategy<Value = ByteChange> {
    prop_oneof![
        any::<u8>().prop_map(ByteChange::Flip),
        vec(any::<u8>(), 1..8).prop_map(ByteChange::Insert),
        any::<u16>().prop_map(ByteChange::Remove),
        Just(ByteChange::Truncate),
        any::<u16>().prop_map(ByteChange::Repeat),
    ]
}

fn odd() -> impl Strategy<Value = Odd> {
    let numbers = vec![
        json!(0),
        json!(-1),
        json!(1),
        json!(i32::MAX),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!(0.1),
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!([null]),
        json!({"": null}),
    ];
    let texts = vec![
        "",
        " ",
        "\0",
        "\n",
        "\u{202e}",
        "\u{1b}[31m",
        "-",
        "/",
        "..",
        "0..0",
        "18446744073709551615",
        "-1",
        "0..18446744073709551615",
        "18446744073709551614..18446744073709551615",
        "5..3",
        "9223372036854775807",
        "-5m",
        "1h",
        "9999999999h",
        "9223372036854775807h",
        "0s",
        "1ns",
        "PT1H",
        "P9999999D",
        "1e999s",
        "NaN",
        "1.5",
        "2026-01-01T00:00:00Z",
        "-009999-01-02T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "2026-02-30T00:00:00Z",
        "a=b,c=d",
        "=,=,=",
        "a=b=c",
        "[",
        "(",
        "(a{1000}){1000}",
        "*",
        "\\",
        "{{",
        "{\"v\":1}",
        "{\"v\":4294967296}",
        "v1",
        "v1 2026-01-01T00:00:00Z cordoned",
        "v1 a b Replace 1/2/3 2026-01-01T00:00:00Z",
        "24:00",
        "99:99",
        "+14:00",
        "-99:59",
        "aws:///x/i-0123456789abcdef0",
        "sim:////",
        "true",
        "False",
        "Unknown",
        "10Gi",
        "-1Ki",
        "99999999999999999999999Gi",
        "1e30",
        "AA==",
        "A",
        "====",
        "/w==",
    ];
    prop_oneof![
        4 => select(numbers).prop_map(Odd::Json),
        6 => select(texts).prop_map(|text| Odd::Text(text.to_owned())),
        2 => "\\PC{0,20}".prop_map(Odd::Text),
        1 => any::<i64>().prop_map(|number| Odd::Json(number.into())),
        1 => (1..5000_u16).prop_map(Odd::Long),
    ]
}

impl Input {
    pub(super) fn bytes(&self, samples: &[&str]) -> Vec<u8> {
        let sample = self.sample.get(samples);
        let mut bytes = match serde_json::from_str(sample) {
            Ok(mut document) => {
                for (place, change) in &self.values {
                    let places = count(&document);
                    let _done = at(&mut document, &mut place.index(places), change);
                }
                document.to_string().into_bytes()
            }
            // Not JSON: lines are what has a meaning.
            Err(_) => self.lines(sample).into_bytes(),
        };
        for (place, change) in &self.bytes {
            change.apply(&mut bytes, *place);
        }
        bytes.truncate(LARGEST);
        bytes
    }

    fn lines(&self, sample: &str) -> String {
        let mut lines: Vec<String> = sample.lines().map(str::to_owned).collect();
        for (place, change) in &self.values {
            if lines.is_empty() {
                break;
            }
            let place = place.index(lines.len());
            match change {
                ValueChange::Replace(odd) => {
                    let key = lines[place].split_inclusive(": ").next().unwrap_or_default();
                    lines[place] = format!("{key}{}", odd.value());
                }
                ValueChange::Remove => drop(lines.remove(place)),
                ValueChange::Add(name, odd) => {
                    lines.insert(place, format!("{name}: {}", odd.value()));
                }
                ValueChange::Nest(depth) => {
                    let depth = usize::from(*depth);
                    lines.insert(place, format!("x: {}{}", "[".repeat(depth), "]".repeat(depth)));
                }
                ValueChange::Repeat(times) => {
                    let line = format!("{}\n", lines[place]);
                    lines[place] = line.repeat(repetitions(*times, line.len()));
                }
            }
        }
        lines.join("\n")
    }
}

/// Several changes in a row would multiply: a document that is as long as an input may be is not repeated.
fn repetitions(times: u16, length: usize) -> usize {
    usize::from(times).min(LARGEST / length.max(1)).max(1)
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value that is reached when `left` is used up. `None` until it was found.
fn at(value: &mut Value, left: &mut usize, change: &ValueChange) -> Option<Removed> {
    if *left == 0 {
        return Some(change.apply(value));
    }
    *left -= 1;
    match value {
        Value::Array(items) => {
            let found = items
                .iter_mut()
                .enumerate()
                .find_map(|(index, item)| Some((index, at(item, left, change)?)));
            let (index, removed) = found?;
            if removed == Removed::Yes {
                items.remove(index);
            }
            Some(Removed::No)
        }
        Value::Object(fields) => {
            let found = fields
                .iter_mut()
                .find_map(|(name, field)| Some((name.clone(), at(field, left, change)?)));
            let (name, removed) = found?;
            if removed == Removed::Yes {
                fields.remove(&name);
            }
            Some(Removed::No)
        }
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Removed {
    Yes,
    No,
}

impl ValueChange {
    fn apply(&self, value: &mut Value) -> Removed {
        match self {
            Self::Replace(odd) => *value = odd.value(),
            Self::Remove => return Removed::Yes,
            Self::Add(name, odd) => match value {
                Value::Object(fields) => drop(fields.insert(name.clone(), odd.value())),
                Value::Array(items) => items.push(odd.value()),
                _ => *value = json!({ name: odd.value() }),
            },
            Self::Nest(depth) => {
                for _ in 0..*depth {
                    *value = json!([value.take()]);
                }
            }
            Self::Repeat(times) => {
                let times = repetitions(*times, value.to_string().len());
                *value = vec![value.clone(); times].into();
            }
        }
        Removed::No
    }
}

impl ByteChange {
    fn apply(&self, bytes: &mut Vec<u8>, place: Index) {
        if bytes.is_empty() {
            return;
        }
        let place = place.index(bytes.len());
        let upto = |length: u16| (place + usize::from(length)).min(bytes.len());
        match self {
            Self::Flip(bits) => bytes[place] ^= bits,
            Self::Insert(more) => drop(bytes.splice(place..place, more.iter().copied())),
            Self::Remove(length) => drop(bytes.drain(place..upto(*length))),
            Self::Truncate => bytes.truncate(place),
            Self::Repeat(length) => {
                let again = bytes[place..upto(*length)].to_vec();
                drop(bytes.splice(place..place, again));
            }
        }
    }
}
