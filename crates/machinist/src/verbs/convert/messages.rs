//! What `convert` prints behind file, line, object and field. Texts about AWS's fields are in `aws-spec/src/mcm`.

use machinist_domain::texts;
use machinist_provider::spec::Problem;

pub(super) const NO_NAME: &str = "without a name";
pub(super) const REQUIRED: &str = "is required";
pub(super) const NOT_A_LIMIT: &str = "must be a number or a percentage, such as 1 or 25%";
pub(super) const NOT_BASE64: &str = "must be base64";

pub(super) const IN_PLACE: &str = "InPlaceUpdate needs an agent that uses machinist's labels; \
    converted to a paused RollingUpdate: choose a strategy, and set spec.paused to false";
pub(super) const IN_PLACE_TIMEOUT: &str = "not converted; \
    set the annotation machinist.dev/in-place-update-timeout in the template";
pub(super) const PRESERVE_IN_SET: &str = "not converted: only a MachineDeployment has it; \
    convert to one, or annotate the template with machinist.dev/preserve=when-failed";
pub(super) const EVICTIONS: &str =
    "not supported: evictions are repeated until the drain timeout; lower drainTimeout instead";
pub(super) const ROLLBACK: &str = "not supported; apply the earlier template";
pub(super) const NODE_SPEC: &str = "not supported: only taints of the Node's spec are";
pub(super) const VIRTUAL_CAPACITY: &str =
    "not supported: machinist does not write status.capacity of Nodes";
pub(super) const TRIGGER_DELETION: &str = "not converted; \
    annotate these Machines with machine.openshift.io/delete-machine, then scale down";
pub(super) const PLACEMENT_ANNOTATION: &str = "not converted; set placement in the provider spec";
pub(super) const NO_CLUSTER: &str = "no tag kubernetes.io/cluster/NAME whose NAME is a valid label; \
    add the label machine.openshift.io/cluster-api-cluster to every template";
pub(super) const LEFT_OUT: &str = "left out: keys under machine.sapcloud.io belong to machine-controller-manager; \
    rename this one if it is yours";
pub(super) const MARKED: &str =
    "left out: it would mark every Machine of this template for deletion";
pub(super) const UNUSED_CLASS: &str = "no object uses this class; not printed";
pub(super) const DELETED: &str =
    "is being deleted; not printed: machine-controller-manager must complete it first";
pub(super) const UNFINISHED: &str = "no instance is recorded; not printed: \
    let machine-controller-manager complete the creation, or delete the Machine there";

pub(super) const NO_SECRET: &str = "is missing: an instance without user data boots and does not join; \
    set userDataSecret in every provider spec of this class";
pub(super) const BOOTSTRAP_TOKEN: &str = "<<BOOTSTRAP_TOKEN>>: machinist creates no bootstrap tokens; \
    insert a token with a long lifetime, \
    or use another way to join, such as the instance's role";
pub(super) const MACHINE_NAME: &str = "<<MACHINE_NAME>>: machinist does not replace it; \
    read the name from the instance's tag Name or its metadata";

texts! {
    pub(super) fn duplicate(earlier: &str) =
        "is also at {earlier}; the later one is used: remove one of them";
    pub(super) fn not_a_duration(got: &str) = "must be a duration such as 10m (got {got:?})";
    pub(super) fn preserve(got: &str) =
        "must be now, when-failed, auto-preserved or false (got {got:?}); left out";
    pub(super) fn strategy(got: &str) =
        "must be RollingUpdate, Recreate or InPlaceUpdate (got {got:?})";
    pub(super) fn class_kind(got: &str) =
        "only the kind MachineClass is supported (got {got:?}); migrate to it first";
    pub(super) fn no_class(name: &str) =
        "MachineClass {name:?} is not in the input; not printed: add the file of the class with -f";
    pub(super) fn unknown_kind(version: &str, kind: &str) =
        "kind {kind:?} of {version} is not supported; not printed: migrate to MachineClass and v1alpha1 first";
    pub(super) fn other_kind(version: &str, kind: &str) =
        "not printed: {kind:?} of {version:?} is neither a kind of machine-controller-manager nor a Secret";
    pub(super) fn other_provider(provider: &str) = "machinist has no provider for {provider:?}; the provider spec \
        is kept unchanged under kind MachineClass, which no provider reads: replace providerSpec.value, and add the \
        label machine.openshift.io/cluster-api-cluster to every template";
    pub(super) fn result(problem: &Problem) =
        "the converted provider spec is invalid: {problem}; correct it in the output";
    pub(super) fn other_namespace(name: &str, namespace: &str) =
        "Secret {name} is in namespace {namespace}; machinist reads that of the Machine: create a copy there";
    pub(super) fn unseen_user_data(name: &str) = "Secret {name} is not in the input; add its file with -f, or \
        check that its userData has neither <<BOOTSTRAP_TOKEN>> nor <<MACHINE_NAME>>, which machinist does not replace";
    pub(super) fn no_user_data(name: &str) = "Secret {name} has no key userData; add it";
    pub(super) fn in_user_data(name: &str, text: &str) = "userData of Secret {name} has {text}";
    pub(super) fn no_keys(name: &str) = "Secret {name} has no access key (accessKeyID and secretAccessKey); \
        no credentialsSecret is set, so the credentials of the process are used";
    pub(super) fn unseen_credentials(name: &str, created: &str) = "Secret {name} is not in the input; \
        create Secret {created} with its access key as aws_access_key_id and aws_secret_access_key";
    pub(super) fn unsupported(count: usize) =
        "printed, but not everything could be converted; lines above that need an action: {count}";
    pub(super) fn invalid(count: usize) = "nothing was printed, because of invalid input; problems above: {count}";
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let problem = Problem::at("ami.id", "is required");
        let field = "spec.template.spec";
        let rows = [
            ("metadata.name", REQUIRED.to_owned()),
            ("metadata", format!("MachineSet {NO_NAME}")),
            ("spec.strategy.rollingUpdate.maxSurge", NOT_A_LIMIT.to_owned()),
            ("data.userData", NOT_BASE64.to_owned()),
            ("spec.strategy.type", IN_PLACE.to_owned()),
            ("spec.strategy.type", strategy("Canary")),
            (&format!("{field}.inPlaceUpdateTimeout"), IN_PLACE_TIMEOUT.to_owned()),
            ("spec.autoPreserveFailedMachineMax", PRESERVE_IN_SET.to_owned()),
            ("metadata.annotations[node.machine.sapcloud.io/preserve]", preserve("soon")),
            (&format!("{field}.maxEvictRetries"), EVICTIONS.to_owned()),
            (&format!("{field}.drainTimeout"), not_a_duration("soon")),
            ("", duplicate("workers.yaml:1")),
            ("spec.rollbackTo", ROLLBACK.to_owned()),
            (&format!("{field}.nodeTemplate.spec.podCIDR"), NODE_SPEC.to_owned()),
            ("nodeTemplate.virtualCapacity", VIRTUAL_CAPACITY.to_owned()),
            ("metadata.annotations", TRIGGER_DELETION.to_owned()),
            ("metadata.annotations", PLACEMENT_ANNOTATION.to_owned()),
            ("metadata.labels", LEFT_OUT.to_owned()),
            (&format!("{field}.class.kind"), class_kind("AWSMachineClass")),
            (&format!("{field}.class.name"), no_class("workers-z1")),
            ("", unknown_kind("machine.sapcloud.io/v1alpha1", "AWSMachineClass")),
            ("", other_kind("v1", "ConfigMap")),
            ("provider", other_provider("OpenStack")),
            ("providerSpec.tags", NO_CLUSTER.to_owned()),
            ("providerSpec", result(&problem)),
            (
                "spec.template.metadata.annotations[machine.openshift.io/delete-machine]",
                MARKED.to_owned(),
            ),
            ("", UNUSED_CLASS.to_owned()),
            ("metadata.deletionTimestamp", DELETED.to_owned()),
            ("spec.providerID", UNFINISHED.to_owned()),
            ("secretRef", NO_SECRET.to_owned()),
            ("secretRef", unseen_user_data("workers")),
            ("secretRef", no_user_data("workers")),
            ("secretRef", in_user_data("workers", BOOTSTRAP_TOKEN)),
            ("secretRef", in_user_data("workers", MACHINE_NAME)),
            ("secretRef.namespace", other_namespace("workers", "garden")),
            ("credentialsSecretRef", unseen_credentials("cloud", "cloud-aws")),
            ("credentialsSecretRef", no_keys("cloud")),
            ("", unsupported(3)),
            ("", invalid(1)),
        ];
        let rows: Vec<_> =
            rows.iter().map(|(field, text)| ("stderr", *field, text.clone())).collect();
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
