use jiff::{SignedDuration, Timestamp};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::access::{CloudAccess, Credentials};
use serde_json::value::RawValue;

use super::*;

const BORN: Timestamp = Timestamp::constant(1_800_000_000, 0);

fn machine(status: &Value) -> MachineRef {
    let spec = json!({ "instanceType": "m6i.large", "tags": [{ "name": "team", "value": "a" }] });
    MachineRef {
        key: ObjectKey::new("ns", "worker-1"),
        uid: Uid("uid-1".into()),
        attempt: 1,
        cluster: "c1".into(),
        cluster_label: None,
        access: CloudAccess {
            region: "eu-west-1".into(),
            credentials: Credentials::Ambient,
            endpoint: None,
            ca_bundle: None,
        },
        spec: RawValue::from_string(spec.to_string()).unwrap().into(),
        provider_id: None,
        status: ProviderStatus(status.as_object().unwrap().clone()),
        created: BORN,
    }
}

fn found(id: &str, tags: &[(&str, &str)]) -> Ec2Instance {
    let tags = tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Ec2Instance {
        id: id.to_owned(),
        account: None,
        token: String::new(),
        state: "running".to_owned(),
        reason: None,
        zone: "eu-west-1a".to_owned(),
        instance_type: "m6i.large".to_owned(),
        launched: Some(BORN + SignedDuration::from_secs(5)),
        is_spot: false,
        host: None,
        vpc: None,
        tags: tags.collect(),
        internal: Vec::new(),
        private_ip: None,
        public_ip: None,
        private_dns: None,
        public_dns: None,
    }
}

#[test]
fn addresses_are_in_openshifts_order() {
    let found = Ec2Instance {
        internal: vec!["fd00::1".to_owned(), "10.0.0.1".to_owned()],
        public_ip: Some("1.2.3.4".to_owned()),
        private_dns: Some("ip-10-0-0-1.eu-west-1.compute.internal".to_owned()),
        public_dns: Some("ec2.example.com".to_owned()),
        ..found("i-1", &[])
    };
    let domains = ["eu-west-1.compute.internal", "corp.example", ""].map(str::to_owned);
    let listed: Vec<_> = addresses(&found, &domains)
        .into_iter()
        .map(|address| format!("{} {}", address.kind.as_str(), address.address))
        .collect();
    let expected = [
        "InternalIP fd00::1",
        "InternalIP 10.0.0.1",
        "ExternalIP 1.2.3.4",
        "InternalDNS ip-10-0-0-1.eu-west-1.compute.internal",
        "Hostname ip-10-0-0-1.eu-west-1.compute.internal",
        "InternalDNS ip-10-0-0-1.corp.example",
        "InternalDNS ip-10-0-0-1",
        "ExternalDNS ec2.example.com",
    ];
    assert_eq!(listed, expected);
}

#[test]
fn converts_states() {
    let cases = [
        ("pending", InstanceState::Pending),
        ("running", InstanceState::Running),
        ("stopping", InstanceState::Stopped),
        ("stopped", InstanceState::Stopped),
        ("shutting-down", InstanceState::Terminating),
        ("terminated", InstanceState::Terminated),
    ];
    for (state, expected) in cases {
        let found = Ec2Instance { state: state.to_owned(), ..found("i-1", &[]) };
        assert_eq!(found.state(), expected);
    }
    assert_eq!(found("i-1", &[]).provider_id(), "aws:///eu-west-1a/i-1");
}

#[test]
fn determines_the_owner_of_an_instance() {
    const CLUSTER: (&str, &str) = ("kubernetes.io/cluster/c1", "owned");
    const NAME: (&str, &str) = ("Name", "worker-1");
    let fresh = machine(&json!({}));
    let knowing = machine(&json!({ "instanceId": "i-1" }));
    let launching = machine(&json!({ "launch": { "attempt": 1 } }));
    let marked = found("i-1", &[(TAG_MACHINE_UID, "uid-1")]);
    let foreign = found("i-1", &[(TAG_MACHINE_UID, "uid-2"), CLUSTER, NAME]);
    let of_go = found("i-1", &[CLUSTER, NAME]);
    for machine in [&fresh, &knowing, &launching] {
        assert!(is_own(&marked, machine) && !is_own(&foreign, machine));
    }
    assert!(is_own(&of_go, &fresh) && is_own(&of_go, &knowing));
    assert!(!is_own(&of_go, &launching), "our own launches carry the uid");
    let old = Ec2Instance { launched: Some(BORN - SignedDuration::from_secs(5)), ..of_go.clone() };
    assert!(!is_own(&old, &fresh), "it was there before the Machine");
    assert!(is_own(&old, &knowing));
    assert!(!is_own(&found("i-1", &[]), &knowing), "a Machine may name anything");
    assert!(!is_own(&found("i-1", &[("kubernetes.io/cluster/c2", "owned"), NAME]), &fresh));
}

#[test]
fn instance_without_tags_is_identified_by_its_token() {
    let with = |token: &str, tags: &[(&str, &str)]| Ec2Instance {
        token: token.to_owned(),
        ..found("i-1", tags)
    };
    let machine = machine(&json!({ "instanceId": "i-1" }));
    for token in ["uid-1-1", "uid-1-23"] {
        assert!(is_own(&with(token, &[]), &machine), "{token}");
        let marked = with(token, &[(TAG_MACHINE_UID, "uid-2")]);
        assert!(!is_own(&marked, &machine), "another owner is tagged");
    }
    for token in ["", "uid-1", "uid-1-", "uid-1-2-3", "uid-11-1", "uid-2-1", "x-uid-1-1"] {
        assert!(!is_own(&with(token, &[]), &machine), "{token}");
    }
}

#[test]
fn chooses_the_current_instance() {
    let with = |id: &str, state: &str, token: &str| Ec2Instance {
        state: state.to_owned(),
        token: token.to_owned(),
        ..found(id, &[])
    };
    let launch = Launch { version: 1, attempt: 2, token: "uid-1-2".into(), ..Launch::default() };
    let status = json!({ "launch": launch });
    let stopped = with("i-1", "stopped", "uid-1-1");
    let running = with("i-2", "running", "uid-1-2");
    let ended = with("i-3", "terminated", "uid-1-2");
    let ended_before = with("i-4", "terminated", "uid-1-1");
    let pick = |all: &[&Ec2Instance], status: &Value| {
        current(all, &machine(status)).map(|found| found.id.clone())
    };
    assert_eq!(pick(&[&stopped, &running], &status).as_deref(), Some("i-2"));
    assert_eq!(pick(&[&stopped, &ended], &status).as_deref(), Some("i-1"));
    assert_eq!(pick(&[&ended_before, &ended], &status).as_deref(), Some("i-3"));
    assert_eq!(pick(&[&ended_before], &status), None, "an earlier attempt says nothing");
    let known = json!({ "instanceId": "i-3", "launch": launch });
    assert_eq!(pick(&[&running, &ended], &known).as_deref(), Some("i-3"));
}

#[test]
fn drift_names_tags_and_foreign_status_is_kept() {
    let machine = machine(&json!({
        "instanceId": "i-1",
        "conditions": [{ "type": "MachineCreation", "status": "True", "message": "theirs" }],
        "theirs": 1,
    }));
    let found = found("i-1", &[("Name", "worker-1"), ("kubernetes.io/cluster/c1", "owned")]);
    let drift = drift(&found, &machine, None).unwrap();
    let ours = "machinist.dev/cluster, machinist.dev/machine-uid, machinist.dev/made-by, team";
    assert_eq!(drift, format!("tags differ: {ours}"));
    let seen = instance(&found, Some(&machine), "eu-west-1", &[]);
    assert_eq!(seen.status.0["conditions"], machine.status.0["conditions"]);
    assert_eq!(seen.status.0["theirs"], 1);
    let ending = Ec2Instance { state: "shutting-down".to_owned(), ..found };
    assert_eq!(super::drift(&ending, &machine, None), None);
}

#[test]
fn created_condition_replaces_a_failed_one() {
    let theirs = json!({ "type": "Theirs", "status": "False" });
    let failed = json!({ "type": "MachineCreation", "status": "False",
        "reason": "MachineCreationFailed", "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let mut machine = machine(&json!({ "conditions": [failed, theirs] }));
    let found = found("i-1", &[(TAG_MACHINE_UID, "uid-1")]);
    let seen = |machine: &MachineRef| instance(&found, Some(machine), "eu-west-1", &[]).status;
    machine.status = seen(&machine);
    let created = json!({ "type": "MachineCreation", "status": "True",
        "reason": "MachineCreationSucceeded", "message": "Machine successfully created",
        "lastTransitionTime": found.launched });
    assert_eq!(machine.status.0["conditions"], json!([created, theirs]));
    assert_eq!(seen(&machine), machine.status, "said once");
}

#[test]
fn failed_creation_is_recorded_with_the_time_of_the_first_failure() {
    let theirs = json!({ "type": "Theirs", "status": "False" });
    let stored = machine(&json!({ "launch": { "attempt": 1 }, "conditions": [theirs] })).status;
    let at = |second| Timestamp::constant(second, 7);
    let failed = with_failed_condition(&stored, "no capacity", at(1_800_000_000));
    let expected = |message: &str| {
        json!({ "type": "MachineCreation", "status": "False", "reason": "MachineCreationFailed",
            "message": message, "lastTransitionTime": "2027-01-15T08:00:00Z" })
    };
    assert_eq!(failed.0["conditions"], json!([theirs, expected("no capacity")]));
    assert_eq!(failed.0["launch"], stored.0["launch"]);
    let again = with_failed_condition(&failed, "no capacity", at(1_800_000_060));
    assert_eq!(again, failed, "the same failure changes nothing");
    let other = with_failed_condition(&failed, "throttled", at(1_800_000_060));
    assert_eq!(other.0["conditions"], json!([theirs, expected("throttled")]));

    let mut machine = machine(&json!({}));
    machine.status = failed;
    let found = found("i-1", &[(TAG_MACHINE_UID, "uid-1")]);
    let seen = instance(&found, Some(&machine), "eu-west-1", &[]).status;
    assert_eq!(seen.0["conditions"][1]["status"], "True");
}
