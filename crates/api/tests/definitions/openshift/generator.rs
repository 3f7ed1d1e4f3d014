//! Objects made from a schema: mostly what it allows, up to its limits, and now and then what it does not.
//!
//! In: an OpenAPI schema as definitions have it, and a seed. Out: JSON, the same for the same seed.

use fastrand::Rng;
use serde_json::{Map, Number, Value, json};

/// How often, in a hundred, a value is not what the schema asks for.
const ODD: u32 = 1;

const TEXTS: &[&str] = &[
    "worker",
    "",
    " ",
    "a\"b\\c\n\t",
    "ünïcödé-机器-🦀",
    "null",
    "~",
    "0x1F",
    "no: yes # {}",
    "\u{1}\u{7f}\u{2028}",
];
const TIMES: &[&str] = &[
    "2026-01-02T03:04:05Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T23:59:59Z",
    "2026-01-02T03:04:05.123456789Z",
    "2026-01-02T03:04:05+05:30",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2026-01-02t03:04:05z",
    "2026-01-02",
];
const QUALIFIED_NAMES: &[&str] =
    &["abc", "MigrateImportantApp", "example.com/Backup", "a.b-c.d/x_y.z", "0-0", "A.b_c-9"];

/// Makes values; each is different, all of one seed are always the same.
pub(crate) struct Generator {
    rng: Rng,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed) }
    }

    /// A value of this schema, or, rarely, not quite.
    pub(crate) fn value(&mut self, schema: &Value) -> Value {
        if self.rng.u32(..100) < ODD {
            return self.odd();
        }
        if let Some(choices) = schema["enum"].as_array() {
            return self.pick(choices).clone();
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema),
            Some("array") => self.array(schema),
            Some("string") => json!(self.text(schema)),
            Some("integer") => self.integer(schema),
            Some("boolean") => json!(self.rng.bool()),
            _ => self.anything(3),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = Map::new();
        if schema["x-kubernetes-preserve-unknown-fields"] == true {
            return self.free_object(3);
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..self.rng.usize(..4) {
                let key = self.text(&json!({}));
                object.insert(key, self.value(&schema["additionalProperties"]));
            }
            return object.into();
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&json!(name)) || self.rng.u32(..100) < 65 {
                object.insert(name.clone(), self.value(field));
            }
        }
        if self.rng.u32(..100) < ODD {
            object.insert("knownToNobody".to_owned(), self.anything(2));
        }
        object.into()
    }

    fn array(&mut self, schema: &Value) -> Value {
        let mut items: Vec<Value> =
            (0..self.rng.usize(..4)).map(|_| self.value(&schema["items"])).collect();
        // Two entries with the same key are refused; that is worth a try, but not every time.
        if let Some(key) = schema["x-kubernetes-list-map-keys"][0].as_str()
            && self.rng.u32(..100) >= ODD
        {
            let mut seen = Vec::new();
            items.retain(|item| {
                let fresh = !seen.contains(&item[key]);
                seen.push(item[key].clone());
                fresh
            });
        }
        items.into()
    }

    fn text(&mut self, schema: &Value) -> String {
        if schema["format"] == "date-time" {
            // Not every parser accepts the last two.
            let likely = if self.rng.u32(..100) < ODD { TIMES } else { &TIMES[..TIMES.len() - 2] };
            return (*self.pick(likely)).to_owned();
        }
        let length = |name: &str| schema[name].as_u64().and_then(|it| usize::try_from(it).ok());
        let (least, most) = (length("minLength").unwrap_or(0), length("maxLength"));
        let (candidates, filler) =
            if schema["pattern"].is_string() { (QUALIFIED_NAMES, "x") } else { (TEXTS, "é") };
        match self.rng.u32(..100) {
            0..10 => filler.repeat(most.unwrap_or(2000)),
            10..20 => filler.repeat(least),
            20..21 => filler.repeat(most.unwrap_or(2000) + 1),
            _ => {
                let text = (*self.pick(candidates)).to_owned();
                let missing = least.saturating_sub(text.chars().count());
                text + &filler.repeat(missing)
            }
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let wide = schema["format"] == "int64";
        let (lowest, highest) =
            if wide { (i64::MIN, i64::MAX) } else { (i32::MIN.into(), i32::MAX.into()) };
        let least = if schema["minimum"].is_number() { 0 } else { lowest };
        let choices = [0, 1, 3, 1000, highest, least, highest - 1];
        json!(*self.pick(&choices))
    }

    /// What a provider may put into an object of its own: anything, as long as it is an object.
    fn free_object(&mut self, depth: u32) -> Value {
        let mut object = Map::new();
        for _ in 0..self.rng.usize(..5) {
            object.insert(self.text(&json!({})), self.anything(depth));
        }
        if self.rng.bool() {
            object.insert("kind".to_owned(), json!("AWSMachineProviderConfig"));
            object.insert("apiVersion".to_owned(), json!("machine.openshift.io/v1beta1"));
            object.insert("metadata".to_owned(), json!({"creationTimestamp": null}));
        }
        object.into()
    }

    fn anything(&mut self, depth: u32) -> Value {
        let deepest = if depth == 0 { 6 } else { 8 };
        match self.rng.u32(..deepest) {
            0 => Value::Null,
            1 => json!(self.rng.bool()),
            2 => json!(self.rng.i64(..)),
            3 => Number::from_f64(self.rng.f64() * 1e9 - 5e8).map_or(Value::Null, Into::into),
            4 | 5 => json!(self.text(&json!({}))),
            6 => (0..self.rng.usize(..4)).map(|_| self.anything(depth - 1)).collect(),
            _ => self.free_object(depth - 1),
        }
    }

    fn odd(&mut self) -> Value {
        let odd = [
            Value::Null,
            json!(""),
            json!("Nonsense"),
            json!(-1),
            json!(2_147_483_648_i64),
            json!(1.5),
            json!(1.0),
            json!(true),
            json!([]),
            json!([null]),
            json!({}),
            json!({"unknown": {"deep": [1]}}),
        ];
        self.pick(&odd).clone()
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.rng.usize(..choices.len())]
    }
}

#[test]
fn the_same_seed_gives_the_same_objects_and_another_does_not() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let objects = |seed| -> Vec<Value> {
        let mut generator = Generator::new(seed);
        (0..20).map(|_| generator.value(&schema)).collect()
    };
    assert_eq!(objects(1), objects(1));
    assert_ne!(objects(1), objects(2));
}
