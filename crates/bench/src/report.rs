use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::{Map, Value, json};

use crate::statistics::{Comparison, Samples, count};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
    /// Only to be known.
    None,
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Exactly(wanted) => (value - wanted).abs() < f64::EPSILON,
            Self::None => true,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::Exactly(wanted) => write!(f, "= {wanted}"),
            Self::None => Ok(()),
        }
    }
}

/// In the order in which they are shown.
#[derive(Debug)]
pub(crate) struct Report {
    name: &'static str,
    figures: Vec<Figure>,
}

#[derive(Debug)]
struct Figure {
    key: String,
    value: f64,
    target: Target,
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, figures: Vec::new() }
    }

    /// Rounded first, so that table, file and result have the same number.
    pub(crate) fn add(&mut self, key: impl Into<String>, value: f64, target: Target) {
        self.figures.push(Figure {
            key: key.into(),
            value: (value * 1000.0).round() / 1000.0,
            target,
        });
    }

    /// The target is for the median.
    pub(crate) fn add_spread(&mut self, key: &str, samples: &Samples, target: Target) {
        self.add(key, samples.median(), target);
        self.add(format!("{key}_min"), samples.min(), Target::None);
        self.add(format!("{key}_max"), samples.max(), Target::None);
    }

    /// `what` stands before the names, with its underscore.
    pub(crate) fn add_comparison(
        &mut self,
        what: &str,
        objects: usize,
        comparison: &Comparison,
        target: Target,
    ) {
        let (ours, limit, ratios) = (comparison.ours(), comparison.limit(), comparison.ratios());
        self.add(format!("{what}ratio_{objects}"), ours.median() / limit.median(), target);
        self.add(format!("{what}ratio_{objects}_min"), ratios.min(), Target::None);
        self.add(format!("{what}ratio_{objects}_max"), ratios.max(), Target::None);
        self.add_spread(&format!("{what}seconds_{objects}"), &ours, Target::None);
        self.add_spread(&format!("raw_{what}seconds_{objects}"), &limit, Target::None);
    }

    pub(crate) fn add_cores(&mut self) {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        self.add("cores", count(cores), Target::None);
    }

    pub(crate) fn is_met(&self) -> bool {
        self.figures.iter().all(|figure| figure.target.is_met(figure.value))
    }

    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(["FIGURE", "TARGET", "MEASURED", "RESULT"]);
        for Figure { key, value, target } in &self.figures {
            let result = match target {
                Target::None => "",
                _ if target.is_met(*value) => "met",
                _ => "missed",
            };
            table.add_row([key.as_str(), &target.to_string(), &value.to_string(), result]);
        }
        table.trim_fmt()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(format!("{}.json", self.name));
        let text = format!("{:#}\n", Value::Object(self.json()));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    fn json(&self) -> Map<String, Value> {
        self.figures.iter().map(|figure| (figure.key.clone(), json!(figure.value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_follow_the_rounded_figures() {
        let mut report = Report::new("x");
        report.add("ratio", 1.300_04, Target::AtMost(1.3));
        report.add("writes", 1.0, Target::Exactly(1.0));
        report.add("known", 7.0, Target::None);
        assert!(report.is_met(), "{}", report.table());
        report.add("idle", 2.0, Target::Exactly(0.0));
        assert!(!report.is_met());
        assert!(report.table().lines().last().unwrap().contains("missed"));
        assert_eq!(report.json()["ratio"], json!(1.3));
    }
}
