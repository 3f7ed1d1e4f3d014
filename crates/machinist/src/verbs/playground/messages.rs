use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use machinist_domain::texts;

use super::fleet::{NAME as FLEET, OTHER_TYPE};

pub(super) const NOT_A_NUMBER: &str = "must be a number";
pub(super) const STARTING: &str =
    "starting etcd and kube-apiserver (the first start takes minutes: it downloads or builds them)";

pub(super) const TITLE: &str = "machinist playground: Ctrl-C stops and removes everything";

/// A Machine that no controller has seen yet.
pub(super) const NO_PHASE: &str = "new";

pub(super) const NO_LOG: &str = "cannot create the log file";

pub(super) const STOPPED: &str = "stopped the controllers and the API server; removed their data";

texts! {
    /// `--once` proves that machines run, which they never do in some modes.
    pub(super) fn never_ready(mode: &str) =
        "--once cannot be combined with --fail={mode}: the machines do not stay up";
    pub(super) fn usage(kubeconfig: &Path, sample: &str) =
        "the Kubernetes API runs until Ctrl-C. In another terminal:\n\n  {}\n{}\n",
        export(kubeconfig), commands(sample);
    pub(super) fn commands(sample: &str) =
        "  kubectl get machines,machinesets,machinedeployments,nodes\n  \
         kubectl scale machinedeployment {FLEET} --replicas=5\n  \
         kubectl edit machinedeployment {FLEET}   # instanceType: {OTHER_TYPE} replaces all machines\n  \
         machinist rollout undo {FLEET}\n  \
         kubectl edit machineset {sample}";
    pub(super) fn totals(machines: usize, phases: &str, instances: usize, sets: usize) =
        "Machines {machines}{}, instances {instances}, MachineSets {sets}",
        if phases.is_empty() { String::new() } else { format!(" ({phases})") };
    /// Of Machines that do not fit on the terminal.
    pub(super) fn more(count: usize, phases: &str) = "… and {count} more: {phases}";
    pub(super) fn log(lines: usize, path: &str) = "log: {path} ({lines} lines)";
    pub(super) fn unreadable(cause: &str) = "cannot read the objects: {cause}";
    pub(super) fn export(kubeconfig: &Path) = "export KUBECONFIG={}", kubeconfig.display();
    pub(super) fn instances(count: usize) = "instances in the cloud: {count}";
    pub(super) fn samples_proved(count: usize) =
        "proved: {count} MachineSets have capacity annotations, or an Event with the reason why not";
    pub(super) fn running_proved(count: usize) =
        "proved: {count} machines are Running, each with an instance and a Node";
    pub(super) fn replaced(machine: &str) = "proved: {machine} was deleted, drained and replaced";
    pub(super) fn remediated(count: usize) =
        "proved: the instances of {count} machines died, and the health check had them replaced";
    pub(super) fn pod_left(pod: &str) = "Pod {pod} still exists, although its machine was drained and deleted";
    pub(super) fn rolled(machines: usize, instance_type: &str) =
        "proved: a rolling update replaced {machines} machines by others of type {instance_type}";
    pub(super) fn rolled_back(instance_type: &str) =
        "proved: machinist rollout undo put back the type {instance_type}";
    pub(super) fn other_types(expected: &str, types: &BTreeSet<String>) =
        "machines are of the types {types:?} instead of {expected}";
    pub(super) fn nothing_left(created: usize) =
        "proved: scaled to zero; {created} instances and their volumes are deleted";
    pub(super) fn cannot(verb: &str, kind: &str, name: &str) = "cannot {verb} {kind} {name}";
    pub(super) fn leaked(instances: usize, volumes: usize) =
        "instances left in the cloud: {instances}; volumes: {volumes}";
    pub(super) fn timed_out(waited: Duration, what: &str, table: &str) =
        "timed out after {waited:?} waiting for {what}; current state:\n{table}";
}

pub(super) const SCALED: &str = "proved: the MachineDeployment was scaled up by two and down again";

pub(super) const NO_CLOUD: &str = "cannot start the simulated cloud";

pub(super) fn samples_differ(waited: Duration, names: &[&str], table: &str) -> String {
    let names = names.join(", ");
    format!("MachineSets not as expected after {waited:?}: {names}; current state:\n{table}")
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let wait = Duration::from_secs(120);
        let printed = [
            STARTING.to_owned(),
            usage(Path::new("/tmp/x/kubeconfig"), "workers"),
            instances(3),
            TITLE.to_owned(),
            totals(4, &format!("1 {NO_PHASE}, 3 Running"), 3, 5),
            totals(0, "", 0, 5),
            more(12, "12 Running"),
            log(2, "/tmp/machinist-playground-1a2b.log"),
            unreadable("the API server closed the connection"),
            samples_proved(5),
            running_proved(3),
            SCALED.to_owned(),
            replaced("fleet-1"),
            remediated(3),
            rolled(3, "sim.large"),
            rolled_back("sim.medium"),
            nothing_left(6),
            STOPPED.to_owned(),
        ];
        let errors = [
            never_ready("never-boots"),
            samples_differ(wait, &["workers"], "MACHINESET  INSTANCE TYPE"),
            timed_out(wait, "the fleet to grow", "MACHINE  PHASE"),
            NO_CLOUD.to_owned(),
            NO_LOG.to_owned(),
            cannot("scale", "MachineDeployment", "fleet"),
            other_types("sim.large", &["sim.medium".to_owned()].into()),
            leaked(1, 2),
            pod_left("on-fleet-1"),
            NOT_A_NUMBER.to_owned(),
        ];
        let rows: Vec<_> = printed
            .map(|text| ("stdout", "", text))
            .into_iter()
            .chain(errors.map(|text| ("stderr", "", text)))
            .collect();
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
