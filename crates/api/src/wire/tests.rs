use super::*;

#[test]
fn a_machine_set_keeps_its_raw_provider_spec_and_skips_the_rest() {
    let json = r#"{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet",
        "metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",
          "managedFields":[{"manager":"x","fieldsV1":{"f:spec":{}}}],"annotations":{"k":"v"}},
        "spec":{"replicas":3,"template":{"spec":{"providerSpec":{"value":{"instanceType":"m6i.large"}}}}},
        "status":{"replicas":3}}"#;
    let set: MachineSet = serde_json::from_str(json).unwrap();
    assert_eq!(set.metadata.name, "a");
    assert_eq!(set.metadata.annotations["k"], "v");
    let raw = set.spec.template.spec.parts.provider_spec.value.unwrap();
    assert_eq!(raw.get(), r#"{"instanceType":"m6i.large"}"#);
}

#[test]
fn a_list_of_null_is_empty() {
    let page: ListPage<'_> =
        serde_json::from_str(r#"{"metadata":{"resourceVersion":"5"},"items":null}"#).unwrap();
    assert!(page.items.is_none());
    assert_eq!(page.metadata.resource_version, "5");
}

#[test]
fn nulls_and_missing_parts_are_as_good_as_empty() {
    for json in [
        "{}",
        r#"{"metadata":{"labels":null,"finalizers":null,"ownerReferences":null,"creationTimestamp":null},
            "spec":null,"status":null}"#,
        r#"{"spec":{"taints":null,"metadata":null,"lifecycleHooks":{"preDrain":null},"providerSpec":null},
            "status":{"addresses":null,"conditions":null,"nodeRef":null,"providerStatus":null,"lastUpdated":null}}"#,
    ] {
        let machine: Machine = serde_json::from_str(json).unwrap();
        assert!(machine.metadata.finalizers.is_empty() && machine.spec.taints.is_empty(), "{json}");
        assert!(machine.status.node_ref.is_none() && machine.status.phase.is_none(), "{json}");
        assert!(machine.status.provider_status.is_none(), "{json}");
    }
    for json in [
        r#"{"spec":null,"status":null}"#,
        r#"{"spec":{"replicas":null,"selector":null,"template":null}}"#,
        r#"{"spec":{"template":{"metadata":null,"spec":null}}}"#,
    ] {
        let set: MachineSet = serde_json::from_str(json).unwrap();
        assert!(set.spec.template.spec.raw.is_none() && set.spec.replicas.is_none(), "{json}");
    }
}

#[test]
fn a_time_that_we_cannot_count_is_no_reason_to_fail() {
    for time in ["9999-12-31T23:59:59Z", "tomorrow", ""] {
        let json = format!(r#"{{"metadata":{{"creationTimestamp":"{time}"}}}}"#);
        let node: Node = serde_json::from_str(&json).unwrap();
        assert_eq!(node.metadata.creation_timestamp, None, "{time}");
    }
}

#[test]
fn a_wrong_type_is_an_error_and_never_a_panic() {
    for json in [
        r#"{"metadata":{"labels":[]}}"#,
        r#"{"metadata":{"finalizers":"x"}}"#,
        r#"{"metadata":{"creationTimestamp":7}}"#,
        r#"{"spec":"x"}"#,
        r#"{"spec":{"taints":{}}}"#,
        r#"{"spec":{"lifecycleHooks":{"preDrain":[7]}}}"#,
        r#"{"status":{"nodeRef":"x"}}"#,
        r#"{"status":{"conditions":[{"type":7}]}}"#,
    ] {
        assert!(serde_json::from_str::<Machine>(json).is_err(), "{json}");
    }
    for json in [
        r#"{"spec":{"replicas":"3"}}"#,
        r#"{"spec":{"template":"x"}}"#,
        r#"{"spec":{"template":{"spec":[1]}}}"#,
        r#"{"spec":{"template":{"spec":{"providerSpec":7}}}}"#,
    ] {
        assert!(serde_json::from_str::<MachineSet>(json).is_err(), "{json}");
    }
}

#[test]
fn a_machine_gives_all_that_controllers_read() {
    let json = r#"{"metadata":{"name":"m","namespace":"n","uid":"u","generation":4,
          "creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-03T00:00:00Z",
          "finalizers":["machine.machine.openshift.io"],
          "ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"su",
            "controller":true,"blockOwnerDeletion":true},{"kind":"Other","name":"o","uid":"ou"}]},
        "spec":{"providerID":"sim:///a/i-1","authoritativeAPI":"MachineAPI","future":{"x":[1]},
          "metadata":{"labels":{"a":"b"},"annotations":{"c":"d"},"name":"ignored"},
          "taints":[{"key":"k","effect":"NoSchedule"}],
          "lifecycleHooks":{"preDrain":[{"name":"Wait","owner":"me"}]},
          "providerSpec":{"value":{"kind":"Sim","n":1.50}}},
        "status":{"phase":"Running","nodeRef":{"kind":"Node","name":"node","uid":"nu","apiVersion":"v1"},
          "addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"lastUpdated":"not a time",
          "conditions":[{"type":"Drained","status":"False","reason":"DrainError","severity":"Warning",
            "message":"one pod","lastTransitionTime":"2026-01-02T03:04:05Z","future":1}],
          "errorMessage":"e","failureMessage":"f","synchronizedGeneration":9,
          "providerStatus":{"instanceId":"i-1"},"lastOperation":{"type":"Create"}}}"#;
    let machine: Machine = serde_json::from_str(json).unwrap();
    let created: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    assert_eq!(machine.metadata.creation_timestamp, Some(created));
    assert_eq!(machine.metadata.generation, 4);
    assert!(machine.metadata.deletion_timestamp.is_some());
    let owner = machine.metadata.controller().unwrap();
    assert_eq!((owner.name.as_str(), owner.block_owner_deletion), ("s", true));
    assert_eq!(machine.spec.provider_id.as_deref(), Some("sim:///a/i-1"));
    assert_eq!(machine.spec.metadata.labels["a"], "b");
    assert_eq!(machine.spec.lifecycle_hooks.pre_drain[0].owner, "me");
    // Raw means raw: what a provider wrote as 1.50 stays 1.50.
    assert_eq!(machine.spec.provider_spec.value.unwrap().get(), r#"{"kind":"Sim","n":1.50}"#);
    assert_eq!(machine.status.node_ref.unwrap().uid, "nu");
    assert_eq!(machine.status.last_updated, None, "a time that is none is no reason to fail");
    let drained = &machine.status.conditions[0];
    assert_eq!(drained.reason.as_deref(), Some("DrainError"));
    assert_eq!(drained.last_transition_time, Some(created));
    assert_eq!(machine.status.provider_status.unwrap().get(), r#"{"instanceId":"i-1"}"#);
    assert_eq!(machine.status.failure_message.as_deref(), Some("f"));
}

#[test]
fn a_template_keeps_what_we_do_not_know() {
    let json = r#"{"spec":{"replicas":0,"minReadySeconds":5,"selector":{"matchLabels":{"a":"b"},
          "matchExpressions":[{"key":"k","operator":"In","values":["v"]},{"key":"x","operator":"Exists"}]},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"future":true,"providerSpec":{"value":{"z":1}}}}}}"#;
    let set: MachineSet = serde_json::from_str(json).unwrap();
    let spec = &set.spec.template.spec;
    let raw = r#"{"future":true,"providerSpec":{"value":{"z":1}}}"#;
    assert_eq!(spec.raw.as_ref().unwrap().get(), raw);
    assert_eq!(spec.parts.provider_spec.value.as_ref().unwrap().get(), r#"{"z":1}"#);
    assert_eq!(set.spec.selector.match_expressions[0].values, ["v"]);
    assert_eq!((set.spec.replicas, set.spec.min_ready_seconds), (Some(0), 5));
    let set: MachineSet = serde_json::from_value(serde_json::from_str(json).unwrap()).unwrap();
    assert!(set.spec.template.spec.raw.is_some());
}

#[test]
fn a_pod_and_a_node_say_what_draining_needs() {
    let pod: Pod = serde_json::from_str(
        r#"{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"},"deletionGracePeriodSeconds":30},
            "spec":{"nodeName":"n","priority":-5,"terminationGracePeriodSeconds":0,"containers":[{"name":"c"}],
              "volumes":[{"name":"a","emptyDir":{}},{"name":"b","persistentVolumeClaim":{"claimName":"c"}},
                {"name":"d","ephemeral":{"volumeClaimTemplate":{}}},{"name":"e","ephemeral":null}]},
            "status":{"phase":"Running"}}"#,
    )
    .unwrap();
    let ephemeral: Vec<bool> = pod.spec.volumes.iter().map(|volume| volume.ephemeral).collect();
    assert_eq!(ephemeral, [false, false, true, false]);
    assert_eq!(pod.metadata.deletion_grace_period_seconds, Some(30));

    let node: Node = serde_json::from_str(
        r#"{"spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoExecute",
            "timeAdded":"2026-01-02T03:04:05Z"}]},
            "status":{"volumesAttached":[{"name":"v","devicePath":""}],"volumesInUse":["v"],
              "conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":"2026-01-02T03:04:05Z"}]}}"#,
    )
    .unwrap();
    assert!(node.spec.unschedulable && node.spec.taints[0].time_added.is_some());
    assert_eq!(node.status.volumes_attached[0].name, "v");
}
