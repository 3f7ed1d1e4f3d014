//! An EventRecycler with any content has settings or a reason why not, and every text of a mark is read.

use anyhow::Result;
use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerSpec;
use machinist_runtime::cache::kind::Kind as _;
use machinist_testbed::fuzz::{done, feed};

use super::recycling::mark::Mark;
use super::settings::{self, Settings};
use super::timings::RecyclerTimings;
use crate::kinds::EventRecyclers;

const SPEC: &str = r#"{"watchInterval": "60s", "searchTerms": ["x"], "threshold": 5, "dryRun": false, "awsRegion":
"eu-west-1", "pollInterval": "15s", "recycleTimeout": "20m", "match": {"message": [{"contains": "a"}, {"regex":
"^a.*b$"}], "reason": ["Failed"], "type": "Warning", "involvedKinds": ["Pod"], "namespaces": ["n"]}, "window": "10m",
"countBy": "Nodes", "nodeGroups": {"names": ["g"], "matchLabels": {"a": "b"}}, "coolDown": "1h", "maxConcurrent": 1,
"maxUnavailable": 1, "strategy": "Replace", "drain": true, "drainTimeout": "5m", "schedule": {"timeZone": "+02:00",
"from": "22:00", "to": "06:00", "days": ["Monday"]}}"#;

#[test]
fn fuzz_settings_of_event_recyclers() -> Result<()> {
    feed(&[SPEC], |bytes| {
        let Ok(spec) = serde_json::from_slice::<EventRecyclerSpec>(bytes) else { return };
        done(settings::for_recycles(Some(&spec), &RecyclerTimings::default()));
        if let Ok(settings) = Settings::read(Some(&spec))
            && let Some(schedule) = &settings.schedule
        {
            for now in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                schedule.is_open(now);
            }
        }
    })
}

#[test]
fn fuzz_event_recyclers() -> Result<()> {
    let sample = r#"{"metadata": {"name": "r", "uid": "u", "resourceVersion": "7", "generation": 1}, "spec":
{"searchTerms": ["x"]}, "status": {"recycles": [{"id": "a", "step": "Draining", "instances": [{"id": "i", "state":
"Waiting"}]}], "recycleHistory": [{"status": "Succeeded"}], "conditions": [{"type": "Ready", "status": "True"}]}}"#;
    feed(&[sample], |bytes| {
        if let Ok(wire) = serde_json::from_slice(bytes) {
            done(EventRecyclers.project(wire));
        }
    })
}

#[test]
fn fuzz_marks_of_recycles() -> Result<()> {
    let sample = "v1 id recycler/r Replace 1/5/3 2026-06-01T12:00:00Z before=x i-1 i-2";
    feed(&[sample], |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            done(Mark::read(text).map(|mark| mark.resume("r", "g", i64::MAX, Timestamp::MAX)));
        }
    })
}
