use machinist_domain::key::Uid;
use machinist_domain::retry::Category;
use serde_json::{Value, json};

use super::super::decide::decide;
use super::super::samples::{deployment, member, now, set, snapshot, with_members};
use super::super::snapshot::SetView;
use super::*;

fn run(deployment: &Value, sets: Vec<SetView>) -> Report {
    let snapshot = snapshot(deployment, sets);
    let plan = decide(&snapshot, now());
    let outcome = match plan {
        Plan::NoOp(_) | Plan::Refuse(_) => Outcome::Nothing,
        _ => Outcome::Executed,
    };
    report(&snapshot, &plan, &outcome, now())
}

fn condition(report: &Report, kind: &str) -> Value {
    let status = report.status.clone().unwrap_or_default();
    let mut list = status["conditions"].as_array().into_iter().flatten();
    list.find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

fn rolling(old: [usize; 2], new: [usize; 3]) -> Vec<SetView> {
    vec![
        with_members(set("a", old[0], 1, &json!({})), old[1], 0),
        with_members(set("b", new[0], 2, &json!({})), new[1], new[2]),
    ]
}

#[test]
fn counts_and_conditions_follow_a_rollout() {
    let report = run(&deployment(), rolling([3, 3], [1, 0, 1]));
    let status = report.status.clone().unwrap();
    let counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    assert_eq!(counts.map(|name| status[name].as_u64()), [4, 1, 3, 3].map(Some));
    assert_eq!(status["unavailableReplicas"], 1);
    assert_eq!(
        (&status["observedGeneration"], &status["labelSelector"]),
        (&json!(4), &json!("app=web"))
    );
    let progressing = condition(&report, "Progressing");
    assert_eq!(
        progressing["message"],
        "Revision 2: 1 of 3 Machines updated, 3 available, 3 old; waiting for 1 new Machine to \
         become available: b-100; the 3 old Machines stay until then; \
         spec.template.spec.providerSpec.value.instanceType: a → b"
    );
    assert_eq!(
        (&progressing["status"], &progressing["reason"]),
        (&json!("True"), &json!("MachineSetUpdated"))
    );
    assert_eq!(condition(&report, "Available")["status"], "True");

    let complete = run(&deployment(), rolling([0, 0], [3, 3, 0]));
    assert_eq!(condition(&complete, "Progressing")["reason"], "NewMachineSetAvailable");
    assert_eq!(complete.result, ReconcileResult::Settled);
    let short = run(&deployment(), rolling([0, 0], [3, 2, 1]));
    assert_eq!(condition(&short, "Available")["reason"], "MinimumReplicasUnavailable");
    let scaled = run(&deployment(), rolling([3, 3], [0, 0, 0]));
    assert_eq!(scaled.events[0].note, "Scaled MachineSet b from 0 to 1");
}

#[test]
fn a_rollout_that_waits_for_a_drain_names_the_machine() {
    let mut sets = rolling([0, 0], [3, 3, 0]);
    sets[0].leaving = 1;
    let mut waiting = snapshot(&deployment(), sets);
    let text = |snapshot: &Snapshot| {
        let told = report(snapshot, &decide(snapshot, now()), &Outcome::Nothing, now());
        condition(&told, "Progressing")["message"].as_str().unwrap().to_owned()
    };
    assert!(text(&waiting).contains("; waiting until deleted Machines are gone; "));
    waiting.content.as_mut().unwrap().drained = Some("a-7".into());
    let named = "are gone: Machine a-7 is being drained, see its condition Drained; ";
    assert!(text(&waiting).contains(named), "{}", text(&waiting));
}

#[test]
fn a_rollout_names_the_machines_that_are_kept_for_debugging() {
    let annotations = json!({
        "machinist.dev/preserve": "now", "machinist.dev/preserved-until": "2026-06-05T12:00:00Z",
    });
    let kept = |name| member(name, None, &json!({"metadata": {"annotations": annotations}}));
    let mut sets = rolling([0, 0], [3, 2, 0]);
    sets[0].members.push(kept("a-9"));
    sets[1].members.push(kept("b-9"));
    let report = run(&deployment(), sets);
    assert_eq!(report.result, ReconcileResult::Settled);
    let status = report.status.clone().unwrap();
    let names = ["replicas", "updatedReplicas", "availableReplicas", "preservedReplicas"];
    assert_eq!(names.map(|name| status[name].as_u64()), [3, 3, 2, 2].map(Some));
    let progressing = condition(&report, "Progressing");
    assert_eq!(
        progressing["message"],
        "Revision 2 is complete: MachineSet b has 2 available Machines; kept for debugging: \
         a-9 (until 2026-06-05T12:00:00Z), b-9 (until 2026-06-05T12:00:00Z)"
    );
    assert_eq!(progressing["reason"], "NewMachineSetAvailable");
    assert_eq!(condition(&report, "Available")["status"], "True");
}

#[test]
fn a_settled_deployment_writes_nothing() {
    let mut settled = deployment();
    settled["status"] = run(&settled, rolling([0, 0], [3, 3, 0])).status.unwrap();
    let report = run(&settled, rolling([0, 0], [3, 3, 0]));
    assert_eq!(report, Report::quiet(ReconcileResult::Settled));
}

#[test]
fn failures_are_conditions_and_do_not_advance_the_observed_generation() {
    let snapshot = snapshot(&deployment(), rolling([3, 3], [0, 0, 0]));
    let plan = decide(&snapshot, now());
    let failed = |category| {
        let failure = Failure { category, retry: Retry::OnChange, message: "not so".to_owned() };
        report(&snapshot, &plan, &Outcome::Failed(failure), now())
    };
    let refused = failed(Category::Unauthorised);
    assert_eq!(refused.status.clone().unwrap()["observedGeneration"], Value::Null);
    let condition = condition(&refused, "ReplicaFailure");
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("FailedUpdate"))
    );
    assert_eq!(refused.retry, Some(Retry::Backoff));
    assert_eq!(refused.events.len(), 1);
    assert!(failed(Category::Conflict).events.is_empty());
}

#[test]
fn an_earlier_refusal_is_reported_while_the_rest_goes_on() {
    let mut snapshot = snapshot(&deployment(), rolling([3, 3], [0, 0, 0]));
    let cause = (EventReason::FailedUpdate, "Cannot update x".into());
    let refused = &mut snapshot.content.as_mut().unwrap().refused;
    (refused.cause, refused.retry) = (Some(cause), Some(Duration::from_secs(4)));
    let plan = decide(&snapshot, now());
    let report_of = report(&snapshot, &plan, &Outcome::Executed, now());
    assert_eq!(condition(&report_of, "ReplicaFailure")["message"], "Cannot update x");
    assert_eq!(report_of.status.unwrap()["observedGeneration"], json!(4));
    assert_eq!(report_of.retry, Some(Retry::Again(Duration::from_secs(4))));
    // The next reconcile leaves it out.
    let plan = Plan::Unmark(Vec::new());
    let failure = Failure {
        category: Category::Unauthorised,
        retry: Retry::Backoff,
        message: "no".to_owned(),
    };
    let refused = report(&snapshot, &plan, &Outcome::Failed(failure), now());
    assert_eq!(refused.retry, Some(Retry::Soon));
}

/// Otherwise the status changes at each attempt, and with it the deployment.
#[test]
fn a_refused_write_and_its_pause_have_the_same_status() {
    let mut unnumbered = deployment();
    unnumbered["metadata"]["annotations"] = json!({});
    let mut patient = deployment();
    patient["spec"]["minReadySeconds"] = json!(5);
    let mut labelled = deployment();
    labelled["spec"]["template"]["spec"]["metadata"]["labels"]["tier"] = json!("gold");
    let fields = json!({"spec": {"metadata": {"labels": {"tier": null}}}}).to_string();
    let pending = json!({
        "metadata": {"annotations": {"machinist.dev/pending-changes": fields}},
        "spec": {"template": labelled["spec"]["template"].clone()},
    });
    for (deployment, set_patch, uids, plan) in [
        (unnumbered, json!({}), vec!["web-uid"], "set revision 2"),
        (patient, json!({}), vec!["b-uid"], "update MachineSet b"),
        (labelled, pending, vec!["b-0", "b-1", "b-2"], "update b-0, b-1, b-2 as its template"),
    ] {
        let sets = || vec![with_members(set("b", 3, 2, &set_patch), 3, 0)];
        let mut attempt = snapshot(&deployment, sets());
        let decided = decide(&attempt, now());
        assert_eq!(decided.to_string(), plan);
        let executed = report(&attempt, &decided, &Outcome::Executed, now());
        let shown = condition(&executed, "Progressing")["reason"].clone();
        assert_ne!(shown, "NewMachineSetAvailable", "{plan}: it is not copied to all yet");
        let failure = Failure {
            category: Category::Unauthorised,
            retry: Retry::Backoff,
            message: "no".to_owned(),
        };
        let refused = report(&attempt, &decided, &Outcome::Failed(failure), now());
        assert_eq!(refused.retry, Some(Retry::Soon));
        let text = condition(&refused, "ReplicaFailure")["message"].clone();
        let view = attempt.content.as_mut().unwrap();
        view.refused.objects.extend(uids.into_iter().map(|uid| Uid(uid.into())));
        view.refused.cause = Some((EventReason::FailedUpdate, text.as_str().unwrap().into()));
        let paused = report(&attempt, &decide(&attempt, now()), &Outcome::Nothing, now());
        for kind in ["Progressing", "Available", "ReplicaFailure"] {
            assert_eq!(condition(&refused, kind), condition(&paused, kind), "{plan}");
        }
    }
}

#[test]
fn the_failure_of_a_set_is_repeated_and_removed() {
    let list = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "Cannot create Machines: quota", "lastTransitionTime": "2026-06-01T11:00:00Z"}]);
    let failing = json!({"status": {"conditions": list}});
    let mut sets = rolling([3, 3], [1, 0, 1]);
    sets[1].set = set("b", 1, 2, &failing);
    let report = run(&deployment(), sets);
    let condition_of = condition(&report, "ReplicaFailure");
    assert_eq!(condition_of["message"], "MachineSet b: Cannot create Machines: quota");
    let mut failed = deployment();
    failed["status"] = report.status.unwrap();
    let healthy = run(&failed, rolling([3, 3], [1, 0, 1])).status.unwrap();
    let kinds: Vec<_> =
        healthy["conditions"].as_array().unwrap().iter().map(|one| one["type"].clone()).collect();
    assert_eq!(kinds, ["Available", "Progressing"]);
}

#[test]
fn progressing_takes_over_why_new_machines_do_not_become_available() {
    let with = |severity: &str| {
        let ready = json!([{"type": "MachinesReady", "status": "False", "severity": severity,
            "reason": "CapacityExhausted", "message": "1 of 1 Machines are not ready: no capacity"}]);
        let mut sets = rolling([3, 3], [1, 0, 1]);
        sets[1].set = set("b", 1, 2, &json!({"status": {"conditions": ready}}));
        condition(&run(&deployment(), sets), "Progressing")
    };
    let failing = with("Warning");
    assert_eq!(
        (&failing["status"], &failing["reason"]),
        (&json!("True"), &json!("CapacityExhausted"))
    );
    let text = failing["message"].as_str().unwrap();
    let waits = "; waiting for 1 new Machine to become available: MachineSet b: 1 of 1 Machines are \
                 not ready: no capacity; the 3 old Machines stay until then; correct \
                 spec.template, or put the earlier one back; spec.template.";
    assert!(text.contains(waits), "{text}");
    let starting = with("Info");
    assert_eq!(starting["reason"], "MachineSetUpdated", "they only start");
}

#[test]
fn a_rollout_without_progress_exceeds_its_deadline_and_goes_on() {
    let mut late = deployment();
    late["spec"]["progressDeadlineSeconds"] = json!(600);
    let waiting = || rolling([3, 3], [1, 0, 1]);
    let first = run(&late, waiting());
    assert_eq!(first.retry, None, "it has just changed");
    late["status"] = first.status.unwrap();
    assert_eq!(run(&late, waiting()).retry, Some(Retry::Again(Duration::from_secs(600))));
    for one in late["status"]["conditions"].as_array_mut().unwrap() {
        one["lastTransitionTime"] = json!("2026-06-01T11:50:00Z");
    }
    let exceeded = run(&late, waiting());
    let condition_of = condition(&exceeded, "Progressing");
    assert_eq!(
        (&condition_of["status"], &condition_of["reason"]),
        (&json!("False"), &json!("ProgressDeadlineExceeded"))
    );
    late["status"]["conditions"] = exceeded.status.unwrap()["conditions"].clone();
    assert_eq!(run(&late, waiting()).status, None);
    let advanced = run(&late, rolling([3, 3], [1, 1, 0]));
    assert_eq!(condition(&advanced, "Progressing")["reason"], "MachineSetUpdated");
}

#[test]
fn an_invalid_spec_is_a_condition_and_an_event() {
    let mut invalid = deployment();
    invalid["spec"]["replicas"] = json!(-1);
    let report = run(&invalid, Vec::new());
    assert_eq!(report.result, ReconcileResult::Refused);
    assert_eq!(condition(&report, "Progressing")["reason"], "InvalidConfiguration");
    assert_eq!(report.status.unwrap()["observedGeneration"], Value::Null);
    assert_eq!(report.events[0].reason, EventReason::InvalidConfiguration);
    let note =
        "spec.replicas must not be negative (got -1); nothing is scaled until it is corrected";
    assert_eq!(report.events[0].note, note);
}

#[test]
fn a_taken_name_is_counted() {
    let snapshot = snapshot(&deployment(), Vec::new());
    let plan = decide(&snapshot, now());
    let report = report(&snapshot, &plan, &Outcome::Collision, now());
    assert_eq!(report.status, Some(json!({"collisionCount": 1})));
}

/// A deployment with a deadline whose rollout was complete an hour ago.
fn settled() -> Value {
    let mut settled = deployment();
    settled["spec"]["progressDeadlineSeconds"] = json!(600);
    settled["status"] = run(&settled, rolling([0, 0], [3, 3, 0])).status.unwrap();
    for one in settled["status"]["conditions"].as_array_mut().unwrap() {
        one["lastTransitionTime"] = json!("2026-06-01T11:00:00Z");
    }
    settled
}

#[test]
fn a_change_cause_leaves_a_complete_rollout_complete() {
    let mut caused = settled();
    caused["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!("because");
    let report = run(&caused, rolling([0, 0], [3, 3, 0]));
    assert_eq!((report.result, report.status), (ReconcileResult::Changed, None));
}

#[test]
fn the_deadline_of_a_rollout_begins_with_it() {
    let mut scaled = settled();
    scaled["status"]["replicas"] = json!(4);
    let report = run(&scaled, rolling([0, 0], [3, 2, 1]));
    assert_eq!(condition(&report, "Progressing")["status"], "True");
    // Counts that are stored do not change any more; the condition is still that of the last rollout.
    scaled["status"] = json!({"conditions": scaled["status"]["conditions"]});
    for (name, value) in report.status.unwrap().as_object().unwrap() {
        if name != "conditions" {
            scaled["status"][name] = value.clone();
        }
    }
    scaled["status"]["observedGeneration"] = json!(4);
    scaled["status"]["labelSelector"] = json!("app=web");
    for count in ["replicas", "updatedReplicas"] {
        scaled["status"][count] = json!(3);
    }
    let report = run(&scaled, rolling([0, 0], [3, 2, 1]));
    assert_eq!(condition(&report, "Progressing")["reason"], "MachineSetUpdated");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(600))));
}

#[test]
fn an_old_set_that_cannot_be_deleted_does_not_hold_up_the_rollout() {
    let mut limited = settled();
    limited["spec"]["revisionHistoryLimit"] = json!(0);
    let snapshot = snapshot(&limited, rolling([0, 0], [3, 3, 0]));
    let plan = decide(&snapshot, now());
    assert_eq!(plan.to_string(), "delete old MachineSet a");
    let failure = Failure {
        category: Category::Unauthorised,
        retry: Retry::OnChange,
        message: "not so".to_owned(),
    };
    let report = report(&snapshot, &plan, &Outcome::Failed(failure), now());
    assert_eq!(condition(&report, "ReplicaFailure")["reason"], "FailedDelete");
    assert_eq!(condition(&report, "Progressing")["reason"], "NewMachineSetAvailable");
}

/// With a canary that is observed for ten minutes, and stopped after one Machine that fails.
fn guarded() -> Value {
    let mut guarded = deployment();
    let limits = json!({"canary": {"soakSeconds": 600}, "abort": {"failedMachines": 1}});
    guarded["spec"]["strategy"] = json!({"rollingUpdate": limits});
    guarded
}

#[test]
fn canaries_are_reported_and_the_deadline_begins_after_them() {
    let mut guarded = guarded();
    guarded["spec"]["progressDeadlineSeconds"] = json!(60);
    let soaks = run(&guarded, rolling([3, 3], [1, 1, 0]));
    let progressing = condition(&soaks, "Progressing");
    assert_eq!(
        (&progressing["status"], &progressing["reason"]),
        (&json!("True"), &json!("CanarySoaking"))
    );
    assert_eq!(
        progressing["message"],
        "Revision 2: 1 of 3 Machines updated, 4 available, 3 old; 1 canary must be available for \
         600s, which ends at 2026-06-01T12:09:00Z; \
         spec.template.spec.providerSpec.value.instanceType: a → b"
    );
    let at_the_end = Retry::Again(Duration::from_secs(540) + Duration::from_millis(1));
    assert_eq!(soaks.retry, Some(at_the_end));
    guarded["status"] = soaks.status.unwrap();
    for one in guarded["status"]["conditions"].as_array_mut().unwrap() {
        one["lastTransitionTime"] = json!("2026-06-01T11:00:00Z");
    }
    let settled = run(&guarded, rolling([3, 3], [1, 1, 0]));
    assert_eq!(settled.status, None, "the deadline is not exceeded");
    let passed = json!({"metadata": {"annotations": {"machinist.dev/canary-passed": "v1 x"}}});
    let mut sets = rolling([3, 3], [1, 1, 0]);
    sets[1].set = set("b", 1, 2, &passed);
    let goes_on = run(&guarded, sets);
    assert_eq!(condition(&goes_on, "Progressing")["reason"], "MachineSetUpdated");
}

#[test]
fn a_soak_that_ends_between_decision_and_report_is_not_forgotten() {
    let snapshot = snapshot(&guarded(), rolling([3, 3], [1, 1, 0]));
    let plan = decide(&snapshot, now());
    let later = now() + Duration::from_secs(541);
    let report = report(&snapshot, &plan, &Outcome::Nothing, later);
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_millis(1))));
}

#[test]
fn an_abort_is_reported_with_the_write_that_stores_it_and_afterwards() {
    let failed = json!({"status": {"phase": "Failed"}});
    let mut sets = rolling([3, 3], [1, 0, 0]);
    sets[1].members.push(super::super::samples::member("b-0", None, &failed));
    let first = run(&guarded(), sets.clone());
    assert_eq!(first.events[0].reason, EventReason::RolloutAborted);
    assert_eq!(
        first.events[0].note,
        "Rollout aborted: 1 new Machine failed or was not ready in time: b-0 (Failed)"
    );
    let progressing = condition(&first, "Progressing");
    assert_eq!(
        (&progressing["status"], &progressing["reason"]),
        (&json!("False"), &json!("RolloutAborted"))
    );
    let snapshot = snapshot(&guarded(), sets.clone());
    let plan = decide(&snapshot, now());
    let failure =
        Failure { category: Category::Conflict, retry: Retry::Soon, message: String::new() };
    let failed = report(&snapshot, &plan, &Outcome::Failed(failure), now());
    assert_eq!(condition(&failed, "Progressing")["reason"], "MachineSetUpdated", "not stored yet");
    let mut stored = guarded();
    stored["spec"]["progressDeadlineSeconds"] = json!(60);
    stored["status"] = first.status.unwrap();
    sets[1].set = set(
        "b",
        1,
        2,
        &json!({"metadata": {"annotations": {
            "machinist.dev/failed-machines": "v1 b-0=Failed",
            "machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z",
        }}}),
    );
    let after = run(&stored, sets);
    assert_eq!((after.status, after.events.len(), after.retry), (None, 0, None));
}

#[test]
fn an_abort_that_cannot_be_stored_is_reported_and_tried_again() {
    let failed = json!({"status": {"phase": "Failed"}});
    let mut sets = rolling([3, 3], [1, 0, 0]);
    sets[1].members.push(super::super::samples::member("b-0", None, &failed));
    let mut snapshot = snapshot(&guarded(), sets);
    let plan = decide(&snapshot, now());
    let outcome = Outcome::Failed(unauthorised());
    let first = report(&snapshot, &plan, &outcome, now());
    assert_eq!(first.retry, Some(Retry::Soon), "scaling goes on");
    let refused = &mut snapshot.content.as_mut().unwrap().refused;
    refused.objects.insert(machinist_domain::key::Uid("b-uid".into()));
    refused.cause = Some((EventReason::FailedUpdate, "Cannot update b".into()));
    refused.retry = Some(Duration::from_secs(4));
    let plan = decide(&snapshot, now());
    let after = report(&snapshot, &plan, &Outcome::Nothing, now());
    let progressing = condition(&after, "Progressing");
    assert_eq!(progressing, condition(&first, "Progressing"), "the next try changes nothing");
    assert_eq!(progressing["reason"], "RolloutAborted");
    assert!(progressing["message"].as_str().unwrap().contains("b-0 (Failed)"), "{progressing}");
    assert_eq!(condition(&after, "ReplicaFailure")["message"], "Cannot update b");
    assert_eq!(after.retry, Some(Retry::Again(Duration::from_secs(4))));
}

fn unauthorised() -> Failure {
    Failure { category: Category::Unauthorised, retry: Retry::OnChange, message: "no".to_owned() }
}

/// A move of a Machine is finished whatever the spec is.
#[test]
fn a_failed_write_with_an_invalid_spec_is_reported_and_tried_again() {
    let mut invalid = deployment();
    invalid["spec"]["replicas"] = json!(-1);
    let mut snapshot = snapshot(&invalid, rolling([3, 3], [0, 0, 0]));
    let set = set("a", 3, 1, &json!({}));
    let plan = Plan::InPlace(Step::Release { set, size: None, all_seen: true });
    let failed = report(&snapshot, &plan, &Outcome::Failed(unauthorised()), now());
    assert_eq!((failed.result, failed.retry), (ReconcileResult::Failed, Some(Retry::Backoff)));
    assert_eq!(failed.events[0].reason, EventReason::FailedUpdate);
    assert_eq!(condition(&failed, "Progressing")["reason"], "InvalidConfiguration");
    let executed = report(&snapshot, &plan, &Outcome::Executed, now());
    assert_eq!((executed.result, executed.retry), (ReconcileResult::Changed, None));
    assert_eq!(executed.status, failed.status);
    // It is left out for a while, and only the invalid spec is left.
    snapshot.content.as_mut().unwrap().refused.retry = Some(Duration::from_secs(4));
    let refused = report(&snapshot, &decide(&snapshot, now()), &Outcome::Nothing, now());
    assert_eq!(refused.retry, Some(Retry::Again(Duration::from_secs(4))));
}

#[test]
fn the_advice_for_a_machine_is_not_repeated_for_the_deployment() {
    let advice =
        [crate::machine::messages::CORRECT_AND_DELETE, crate::machine::messages::DELETE_TO_REPLACE];
    for advice in advice {
        let text = format!("1 of 1 Machines failed: placement.region: is required{advice}");
        let ready = json!({"status": {"conditions": [{
            "type": "MachinesReady", "status": "False", "severity": "Error", "reason": "Failed", "message": text,
        }]}});
        let stopped = json!({"metadata": {"annotations": {
            "machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z",
            "machinist.dev/failed-machines": "v1 b-100=Failed",
        }}});
        for patch in [json!({}), stopped] {
            let mut sets = rolling([3, 3], [1, 0, 1]);
            let mut blocked = ready.clone();
            super::super::samples::merge(&mut blocked, &patch);
            sets[1].set = set("b", 1, 2, &blocked);
            let told = condition(&run(&deployment(), sets), "Progressing");
            let message = told["message"].as_str().unwrap();
            assert!(
                message.contains("placement.region: is required; the 3 old Machines"),
                "{message}"
            );
            assert!(!message.contains("this Machine"), "{message}");
        }
    }
}

#[test]
fn a_set_whose_template_was_changed_is_reported_until_it_is_put_back() {
    let told = |patch: Value| {
        let mut sets = rolling([0, 0], [3, 3, 0]);
        sets[1].set = set("b", 3, 2, &json!({"spec": {"template": {"spec": patch}}}));
        let told = condition(&run(&deployment(), sets), "Progressing");
        (told["reason"].clone(), told["message"].as_str().unwrap().to_owned())
    };
    let (reason, message) = told(json!({"providerSpec": {"value": {"instanceType": "c"}}}));
    assert_eq!(reason, "MachineSetChanged");
    let changed = "instanceType: c → b; put it back in the MachineSet, or replace all Machines by those of \
        spec.template (machinist rollout restart web)";
    assert!(message.ends_with(changed), "{message}");
    // As the defaults of a webhook.
    let (reason, _) = told(json!({"providerSpec": {"value": {"placement": {"zone": "a"}}}}));
    assert_eq!(reason, "NewMachineSetAvailable");
}

#[test]
fn a_rollout_names_no_defaults_of_a_webhook_as_its_reason() {
    let defaults = json!({"deviceIndex": 0, "placement": {"region": "r"}});
    let stored = json!({"spec": {"template": {"spec": {"providerSpec": {"value": defaults}}}}});
    let mut sets = rolling([3, 3], [1, 0, 1]);
    sets[0].set = set("a", 3, 1, &stored);
    let message = condition(&run(&deployment(), sets), "Progressing")["message"].to_string();
    let why = "; spec.template.spec.providerSpec.value.instanceType: a → b\"";
    assert!(message.ends_with(why), "{message}");
}

#[test]
fn a_set_whose_template_was_changed_does_not_hide_the_progress_deadline() {
    let other = json!({"providerSpec": {"value": {"instanceType": "c"}}});
    let changed = |old, new| {
        let mut sets = rolling(old, new);
        let replicas = new[0];
        sets[1].set = set("b", replicas, 2, &json!({"spec": {"template": {"spec": other}}}));
        sets
    };
    let waiting = || changed([3, 3], [1, 0, 1]);
    let mut late = deployment();
    late["spec"]["progressDeadlineSeconds"] = json!(600);
    let age = |deployment: &mut Value, patch: &Value| {
        for (name, value) in patch.as_object().unwrap() {
            deployment["status"][name] = value.clone();
        }
        for one in deployment["status"]["conditions"].as_array_mut().unwrap() {
            one["lastTransitionTime"] = json!("2026-06-01T11:50:00Z");
        }
    };
    let progressing = |report: &Report| {
        let one = condition(report, "Progressing");
        (one["reason"].clone(), one["message"].as_str().unwrap_or_default().to_owned())
    };
    // A complete one has no deadline, and the next rollout begins later.
    let complete = run(&late, changed([0, 0], [3, 3, 0]));
    assert_eq!(progressing(&complete).0, "MachineSetChanged");
    age(&mut late, &complete.status.unwrap());
    assert_eq!(run(&late, changed([0, 0], [3, 3, 0])).status, None);
    let first = run(&late, waiting());
    let (reason, message) = progressing(&first);
    assert_eq!(reason, "MachineSetChanged");
    assert!(message.contains("(machinist rollout restart web). Revision 2: 1 of 3 "), "{message}");
    // The counts are stored, and the condition is still that of the complete rollout.
    let mut patch = first.status.clone().unwrap();
    patch["conditions"] = late["status"]["conditions"].clone();
    age(&mut late, &patch);
    let again = run(&late, waiting());
    assert_eq!(progressing(&again), (reason, message.clone()));
    assert_eq!(again.retry, Some(Retry::Again(Duration::from_secs(600))));
    age(&mut late, &first.status.unwrap());
    let (reason, told) = progressing(&run(&late, waiting()));
    assert_eq!(reason, "ProgressDeadlineExceeded");
    assert!(told.ends_with(&message), "{told}");
}

#[test]
fn a_canary_that_did_not_run_has_no_event() {
    let passed = |sets| {
        let snapshot = snapshot(&guarded(), sets);
        let plan = decide(&snapshot, now());
        assert!(matches!(plan, Plan::Guard { .. }), "{plan}");
        report(&snapshot, &plan, &Outcome::Executed, now()).events.len()
    };
    assert_eq!(passed(rolling([0, 0], [3, 3, 0])), 0, "the rollout was complete before");
    let mut soaked = rolling([3, 3], [1, 0, 0]);
    soaked[1].members.push(super::super::samples::member("b-0", Some(900), &json!({})));
    assert_eq!(passed(soaked), 1);
}

/// `Available`, stored while everything was available, and `Progressing`, as they are in the next status.
fn after_complete(replicas: i32, deleting: bool) -> [(Value, Value); 2] {
    let complete = || rolling([0, 0], [3, 3, 0]);
    let mut web = deployment();
    web["status"] = run(&web, complete()).status.unwrap();
    web["spec"]["replicas"] = json!(replicas);
    let mut after = snapshot(&web, complete());
    after.meta.deleting = deleting;
    let told = report(&after, &decide(&after, now()), &Outcome::Nothing, now());
    ["Available", "Progressing"].map(|kind| {
        let one = condition(&told, kind);
        (one["status"].clone(), one["reason"].clone())
    })
}

#[test]
fn conditions_of_an_invalid_spec_do_not_contradict_each_other() {
    let told = after_complete(-1, false);
    let invalid = json!("InvalidConfiguration");
    assert_eq!(told, [(json!("Unknown"), invalid.clone()), (json!("False"), invalid)]);
}

#[test]
fn conditions_of_a_deployment_in_deletion_are_unknown() {
    let told = after_complete(3, true);
    let deleting = (json!("Unknown"), json!("Deleting"));
    assert_eq!(told, [deleting.clone(), deleting]);
}
