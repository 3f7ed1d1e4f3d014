//! A MachineSet with any content gets a decision and a report.

use anyhow::Result;
use machinist_api::wire;
use machinist_testbed::fuzz::{done, feed};
use serde_json::Value;

use super::plan::Outcome;
use super::samples::{members, now, snapshot, view};
use super::{decide, report};

#[test]
fn fuzz_decisions_about_machine_sets() -> Result<()> {
    feed(&[crate::fuzz::MACHINE_SET], |bytes| {
        let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return };
        if serde_json::from_slice::<wire::MachineSet>(object.to_string().as_bytes()).is_err() {
            return;
        }
        let snapshot = snapshot(view(&object, members(2)));
        let plan = decide(&snapshot, now());
        done(report(&snapshot, &plan, &Outcome::Nothing, now()));
    })
}
