//! The simulated cloud passes the conformance suite.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use machinist_domain::key::Uid;
use machinist_provider::Pending;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::ownership::{Ownership, TAG_MACHINE_UID};
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, Instance, MachineRef, ObservedInstance, Owned, ProviderStatus,
    Reach,
};
use machinist_provider::conformance::{self, Bed, Fault, Found};
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;
use machinist_provider_sim::SimProvider;
use machinist_provider_sim::server::{Modes, SimCloud, SimServer, Trouble};
use machinist_provider_sim::types::ZONES;
use machinist_provider_sim::wire::State;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::bed::{WINDOW, machine, parts, spec};

struct SimBed {
    sim: SimCloud,
    server: SimServer,
    defect: Option<Defect>,
}

/// Defects of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// Reports an instance that is not listed as absent at once.
    Hasty,
    /// Ignores its earlier create requests.
    Forgetful,
    /// Reads only the first page.
    FirstPage,
    /// Treats an error as absent.
    Careless,
    /// Confirms updates, and changes nothing.
    Idle,
    /// Deletes an orphan although its tags have changed.
    Reckless,
}

/// A provider with a defect.
#[derive(Debug)]
struct Defective(Arc<dyn Cloud>, Defect);

impl Cloud for Defective {
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        self.0.prepare(machine)
    }

    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async move {
            let mut machine = machine.clone();
            if self.1 == Defect::Forgetful
                && let Some(launch) = machine.status.0.get_mut("launch")
            {
                static CALLS: AtomicU32 = AtomicU32::new(0);
                launch["token"] = CALLS.fetch_add(1, Ordering::Relaxed).to_string().into();
            }
            self.0.create(&machine).await
        })
    }

    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(async move {
            let mut answers = self.0.describe(machines).await;
            if self.1 == Defect::Careless {
                for answer in &mut answers {
                    if matches!(answer, ObservedInstance::Unknown(_)) {
                        *answer = ObservedInstance::Absent;
                    }
                }
            }
            answers
        })
    }

    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async move {
            if self.1 == Defect::Idle {
                let observed = self.describe(std::slice::from_ref(machine)).await.pop();
                if let Some(instance) = observed.as_ref().and_then(ObservedInstance::present) {
                    return Ok(Instance { drift: None, ..Instance::clone(instance) });
                }
            }
            self.0.update(machine).await
        })
    }

    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        self.0.delete(machine)
    }

    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(async move {
            let mut listed = self.0.list(within).await?;
            if self.1 == Defect::FirstPage {
                listed.truncate(2);
            }
            Ok(listed)
        })
    }

    fn delete_orphan<'a>(
        &'a self,
        within: &'a Reach,
        orphan: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(async move {
            let mut orphan = orphan.clone();
            if self.1 == Defect::Reckless {
                orphan.machine_uid = Uid(orphan.tags[TAG_MACHINE_UID].as_str().into());
            }
            self.0.delete_orphan(within, &orphan).await
        })
    }
}

fn raw(spec: &Value) -> Arc<RawValue> {
    RawValue::from_string(spec.to_string()).unwrap().into()
}

impl Bed for SimBed {
    fn specs(&self) -> Arc<dyn SpecHalf> {
        SimProvider::default().specs()
    }

    fn cloud(&self) -> Arc<dyn Cloud> {
        let mut parts = parts();
        if self.defect == Some(Defect::Hasty) {
            parts.timings.consistency = Duration::ZERO;
        }
        let cloud = SimProvider::at(self.server.url()).cloud(&parts);
        match self.defect {
            Some(defect) => Arc::new(Defective(cloud, defect)),
            None => cloud,
        }
    }

    fn access(&self) -> CloudAccess {
        machine("any", &json!({})).access
    }

    fn good_spec(&self) -> Arc<RawValue> {
        raw(&spec(&json!({
            "bootSeconds": 1, "stopSeconds": 1, "dataVolumeGiB": 1, "tags": { "team": "a" },
        })))
    }

    fn hot_spec(&self, _: &str) -> Option<Arc<RawValue>> {
        Some(raw(&spec(&json!({
            "bootSeconds": 1, "stopSeconds": 1, "dataVolumeGiB": 1, "tags": { "team": "b" },
        }))))
    }

    fn impossible_spec(&self) -> Arc<RawValue> {
        raw(&json!({ "instanceType": "sim.enormous" }))
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }

    fn set_fault(&self, fault: Fault) -> Pending<'_, ()> {
        let mut modes = Modes::default();
        // This cloud's clock runs ten times as fast.
        let hidden = u64::try_from(WINDOW.as_millis()).unwrap() * 10 / 2;
        match fault {
            Fault::None => {}
            Fault::LostResponses => modes.lose_create_answers = u32::MAX,
            Fault::Unlisted => modes.hidden_millis = hidden,
            Fault::LostAndUnlisted => {
                modes.lose_create_answers = u32::MAX;
                modes.hidden_millis = hidden;
            }
            Fault::NoCapacity => modes.full_zones = ZONES.map(str::to_owned).into(),
            Fault::Throttled => modes.trouble = Some(Trouble::Throttled),
            Fault::Unauthorised => modes.trouble = Some(Trouble::Unauthorised),
            Fault::Unavailable => modes.trouble = Some(Trouble::Unavailable),
            Fault::InvalidResponses => modes.trouble = Some(Trouble::Nonsense),
            Fault::SmallPages => modes.page_size = Some(2),
        }
        self.sim.set_modes(modes);
        Box::pin(async {})
    }

    fn truth<'a>(&'a self, machine: &'a Uid) -> Pending<'a, Vec<Found>> {
        let made = self.sim.of_machine(&machine.0).into_iter().map(|instance| Found {
            exists: instance.state != State::Terminated,
            left: instance.volumes.len(),
            ownership: Ownership::read(|tag| instance.tags.get(tag).map(String::as_str)),
            id: instance.id.into(),
        });
        let made = made.collect();
        Box::pin(async { made })
    }

    fn cause_drift<'a>(&'a self, machine: &'a Uid) -> Pending<'a, ()> {
        for instance in self.sim.of_machine(&machine.0) {
            assert!(self.sim.remove_tag(&instance.id, "team"));
        }
        Box::pin(async {})
    }
}

async fn bed(defect: Option<Defect>) -> SimBed {
    let sim = SimCloud::new(1, 10.0);
    let server = SimServer::start(&sim).await.unwrap();
    SimBed { sim, server, defect }
}

#[tokio::test]
async fn simulated_cloud_passes_the_conformance_suite() {
    let passed = conformance::run(&bed(None).await).await.unwrap();
    assert!(passed.len() >= 25, "{passed:?}");
}

/// The suite finds every defect.
#[tokio::test]
async fn conformance_suite_finds_defects() {
    let cases: [(Defect, &[&str]); 6] = [
        (
            Defect::Hasty,
            &[
                "what_is_not_shown_yet_is_not_absent",
                "what_was_lost_and_is_not_shown_yet_is_deleted_all_the_same",
                "what_was_made_and_is_not_shown_yet_is_deleted_all_the_same",
            ],
        ),
        (
            Defect::Forgetful,
            &[
                "creating_twice_makes_one",
                "creating_at_the_same_time_makes_one",
                "a_lost_answer_and_another_try_make_one",
            ],
        ),
        (Defect::FirstPage, &["lists_are_followed_to_the_last_page"]),
        (
            Defect::Careless,
            &["what_is_not_shown_yet_is_not_absent", "missing_rights_are_told_as_such"],
        ),
        (
            Defect::Idle,
            &["drift_is_seen_and_repaired", "a_hot_field_is_applied_to_a_living_instance"],
        ),
        (Defect::Reckless, &["an_orphan_is_deleted_alone_and_only_if_its_tags_are_the_same"]),
    ];
    for (defect, expected) in cases {
        let failures = conformance::run(&bed(Some(defect)).await).await.unwrap_err();
        let found: Vec<_> = failures.0.iter().map(|(name, _)| *name).collect();
        let missed: Vec<_> = expected.iter().filter(|name| !found.contains(name)).collect();
        assert!(missed.is_empty(), "{defect:?}: {missed:?} did not notice\n{failures}");
    }
}
