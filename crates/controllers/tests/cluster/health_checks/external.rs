//! External remediation, with a toy kind that a toy controller would serve: the test plays it.

use kube::api::{Api, ApiResource, ListParams, ObjectMeta};
use kube::core::{GroupVersionKind, TypeMeta};

use super::*;
use crate::definitions::control_plane;

const TEMPLATE: &str = "power-cycle";
const TEMPLATE_CONDITION: &str = "ExternalRemediationTemplateAvailable";
const REQUEST_CONDITION: &str = "ExternalRemediationRequestAvailable";

on_both_definitions! {
    crate::health_checks::start =>
    a_remediation_object_is_created_once_and_deleted_when_the_machine_is_healthy,
    what_external_remediation_lacks_is_a_condition_and_creating_it_suffices,
    the_strategy_external_baremetal_annotates_the_machine,
}

impl Fixture {
    /// The API group of the toy, of which each test has its own.
    fn group(&self) -> String {
        format!("{}.example.dev", self.namespace)
    }

    fn resource(&self, kind: &str, plural: &str) -> ApiResource {
        let kind = GroupVersionKind::gvk(&self.group(), "v1", kind);
        ApiResource::from_gvk_with_plural(&kind, plural)
    }

    fn fixes(&self) -> Api<DynamicObject> {
        let resource = self.resource("Fix", "fixes");
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    fn templates(&self) -> Api<DynamicObject> {
        let resource = self.resource("FixTemplate", "fixtemplates");
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// A Fix needs `spec.retries` of at least 1.
    async fn install_fixes(&self) -> Result<()> {
        let retries = json!({"type": "integer", "minimum": 1});
        let spec =
            json!({"type": "object", "required": ["retries"], "properties": {"retries": retries}});
        let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let crd = |kind: &str, plural: &str, spec: &Value| {
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{}", self.group())},
                "spec": {
                    "group": self.group(), "scope": "Namespaced",
                    "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                    "versions": [{"name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": schema}}],
                },
            })
        };
        let crds = [crd("Fix", "fixes", &spec), crd("FixTemplate", "fixtemplates", &free)];
        let crds = crds.map(|crd| crd.to_string()).join("\n---\n");
        control_plane(self.served).await.install_crds(&crds).await
    }

    async fn create_template(&self, retries: u32) -> Result<()> {
        let body = json!({"metadata": {"labels": {"team": "metal"}}, "spec": {"retries": retries}});
        let template = DynamicObject {
            types: Some(TypeMeta {
                api_version: format!("{}/v1", self.group()),
                kind: "FixTemplate".to_owned(),
            }),
            metadata: ObjectMeta { name: Some(TEMPLATE.to_owned()), ..ObjectMeta::default() },
            data: json!({"spec": {"template": body}}),
        };
        self.templates().create(&PostParams::default(), &template).await?;
        Ok(())
    }

    async fn create_external_check(&self) -> Result<()> {
        let api_version = format!("{}/v1", self.group());
        let template = json!({"apiVersion": api_version, "kind": "FixTemplate", "name": TEMPLATE});
        self.create_check(CHECK, json!({}), json!({ "remediationTemplate": template })).await
    }

    async fn until_condition(&self, kind: &str, wanted: &str) -> Result<DynamicObject> {
        let is = |check: &DynamicObject| condition(check, kind) == wanted;
        self.until_health_check(CHECK, &format!("{kind} is {wanted}"), is).await
    }

    async fn until_fix(&self, machine: &str) -> Result<DynamicObject> {
        self.eventually("a Fix", || async { Ok(self.fixes().get(machine).await?) }).await
    }

    async fn until_no_fix(&self) -> Result<()> {
        self.eventually("no Fix", || async {
            let left = self.fixes().list(&ListParams::default()).await?.items.len();
            ensure!(left == 0, "{left} are left");
            Ok(())
        })
        .await
    }

    fn fixes_created(&self) -> usize {
        let creates = Match::any().verbs([Verb::Create]).resource("fixes");
        self.proxy.log().matching(&creates).len()
    }
}

async fn a_remediation_object_is_created_once_and_deleted_when_the_machine_is_healthy(
    world: Fixture,
) -> Result<()> {
    world.install_fixes().await?;
    world.create_template(2).await?;
    world.create_fleet(3).await?;
    let process = world.run()?;
    world.create_external_check().await?;
    world.until_condition(TEMPLATE_CONDITION, "True").await?;
    world.until_condition(REQUEST_CONDITION, "True").await?;
    assert_eq!(world.fixes_created(), 0);

    world.report("m-0", "Ready", "False", LONG).await?;
    let fix = world.until_fix("m-0").await?;
    let machine = world.machines().get("m-0").await?;
    let owner = &fix.owner_references()[0];
    assert_eq!((&owner.kind[..], Some(&owner.uid)), ("Machine", machine.uid().as_ref()));
    assert_eq!(owner.controller, None, "the remediation controller may add itself");
    assert_eq!(fix.labels()["team"], "metal");
    let annotations = fix.annotations();
    assert_eq!(annotations["machine.openshift.io/cloned-from-name"], TEMPLATE);
    let group_kind = format!("FixTemplate.{}", world.group());
    assert_eq!(annotations["machine.openshift.io/cloned-from-groupkind"], group_kind);
    assert_eq!(fix.data["spec"]["retries"], 2);
    let note = world.until_event("m-0", "RemediationRequested").await?;
    assert!(note.contains("Created Fix m-0") && note.contains("Ready=False"), "{note}");
    let named = |check: &DynamicObject| message(check, "MachinesHealthy").contains("by Fix m-0");
    world.until_health_check(CHECK, "it names the Fix", named).await?;

    // More reconciles create no other one, and the Machine stays.
    for status in ["True", "False"] {
        world.report("m-1", "DiskPressure", status, LONG).await?;
    }
    world.report("m-2", "Ready", "Unknown", LONG).await?;
    world.until_fix("m-2").await?;
    assert_eq!(world.fixes_created(), 2);
    assert_eq!(world.alive_machines().await?.len(), 3);

    // The toy controller has repaired both.
    for machine in ["m-0", "m-2"] {
        world.report(machine, "Ready", "True", SignedDuration::ZERO).await?;
    }
    world.until_no_fix().await?;
    world.until_event("m-0", "RemediationEnded").await?;
    world.until_condition("MachinesHealthy", "True").await?;
    assert_eq!((world.fixes_created(), world.alive_machines().await?.len()), (2, 3));
    process.kill().await
}

async fn what_external_remediation_lacks_is_a_condition_and_creating_it_suffices(
    world: Fixture,
) -> Result<()> {
    world.create_fleet(2).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    world.create_external_check().await?;
    let lists = || Match::any().verbs([Verb::List]).resource("fixes");
    let forbidden = world.proxy.add_rule(Rule::new(lists(), Effect::answer(403)));
    let process = world.run()?;
    let not_found = "False/ExternalRemediationTemplateNotFound";
    let check = world.until_condition(TEMPLATE_CONDITION, not_found).await?;
    let text = message(&check, TEMPLATE_CONDITION);
    assert!(text.contains("FixTemplate") && text.contains("is served"), "{text}");
    world.until_event(CHECK, "RemediationUnavailable").await?;
    let note = world.until_event("m-0", "RemediationHeld").await?;
    assert!(note.contains("no remediation object can be created"), "{note}");

    // The kinds appear, without a template and without the right to list Fixes.
    world.install_fixes().await?;
    world.until_condition(REQUEST_CONDITION, "Unknown/Unauthorised").await?;
    let missing = |check: &DynamicObject| {
        let text = message(check, TEMPLATE_CONDITION);
        condition(check, TEMPLATE_CONDITION) == not_found && text.contains("does not exist")
    };
    world.until_health_check(CHECK, "the template is missing", missing).await?;
    forbidden.remove();
    world.until_condition(REQUEST_CONDITION, "True").await?;

    // A template from which nothing valid can be created.
    let before = process.count(RECONCILES, &["healthcheck"]);
    world.create_template(0).await?;
    let failed = "False/ExternalRemediationRequestCreationFailed";
    let check = world.until_condition(REQUEST_CONDITION, failed).await?;
    let text = message(&check, REQUEST_CONDITION);
    assert!(text.contains("Cannot create Fix m-0") && text.contains("retries"), "{text}");
    world.until_event("m-0", "RemediationRequestFailed").await?;
    let reconciles = process.count(RECONCILES, &["healthcheck"]) - before;
    assert!(reconciles < 30, "{reconciles} reconciles");
    let valid = json!({"spec": {"template": {"spec": {"retries": 1}}}});
    let valid = Patch::Merge(valid);
    world.templates().patch(TEMPLATE, &PatchParams::default(), &valid).await?;
    world.until_fix("m-0").await?;
    world.until_condition(REQUEST_CONDITION, "True").await?;
    assert_eq!(world.alive_machines().await?.len(), 2);

    // Without the template in the spec, the Machine is deleted, and the conditions are gone.
    let patch = Patch::Merge(json!({"spec": {"remediationTemplate": null}}));
    world.health_checks().patch(CHECK, &PatchParams::default(), &patch).await?;
    assert_eq!(world.until_left(1).await?, ["m-1"]);
    let gone = |check: &DynamicObject| condition(check, TEMPLATE_CONDITION).is_empty();
    world.until_health_check(CHECK, "without the conditions", gone).await?;
    process.kill().await
}

async fn the_strategy_external_baremetal_annotates_the_machine(world: Fixture) -> Result<()> {
    world.create_fleet(3).await?;
    world.report("m-0", "Ready", "False", LONG).await?;
    world.patch_machine_status("m-1", json!({"phase": "Failed"})).await?;
    let strategy = json!({"machine.openshift.io/remediation-strategy": "external-baremetal"});
    world.create_check(CHECK, json!({ "annotations": strategy }), json!({})).await?;
    let process = world.run()?;
    // As OpenShift: what has failed is deleted.
    assert_eq!(world.until_left(2).await?, ["m-0", "m-2"]);
    world.until_event("m-0", "ExternalAnnotationAdded").await?;
    let annotated = |machine: &DynamicObject| {
        machine.annotations().get("host.metal3.io/external-remediation").map(String::as_str)
            == Some("")
    };
    assert!(annotated(&world.machines().get("m-0").await?));
    let held = |check: &DynamicObject| {
        message(check, "MachinesHealthy").contains("external-remediation: another controller")
    };
    world.until_health_check(CHECK, "Metal3 remediates it", held).await?;
    let patches = Match::any().verbs([Verb::Patch]).resource("machines");
    let ours = world.proxy.log().matching(&patches).len();
    assert_eq!(ours, 1, "it is annotated once");
    process.kill().await
}
