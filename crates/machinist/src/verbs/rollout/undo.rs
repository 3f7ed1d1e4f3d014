//! Which revision `undo` puts back. Pure; what it writes is in the controller's `revision`.

use machinist_controllers::kinds::MachineDeployment;
use machinist_controllers::machine_deployment::revision::Revision;

/// Why there is nothing to put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    Paused { name: String, known: Vec<i64> },
    Unknown { name: String, number: i64, known: Vec<i64> },
    NoPrevious { name: String, known: Vec<i64> },
}

/// `wanted` 0: the newest one that is not that of the current template. `revisions` are in order.
pub(super) fn target<'a>(
    deployment: &MachineDeployment,
    revisions: &'a [Revision],
    wanted: i64,
) -> Result<&'a Revision, Refusal> {
    let name = deployment.meta.key.name.to_string();
    let known = || revisions.iter().map(|one| one.number).collect();
    if deployment.spec.paused {
        return Err(Refusal::Paused { name, known: known() });
    }
    if wanted > 0 {
        let found = find(revisions, wanted);
        return found.ok_or_else(|| Refusal::Unknown { name, number: wanted, known: known() });
    }
    let previous = revisions.iter().rev().find(|one| !one.current);
    previous.ok_or_else(|| Refusal::NoPrevious { name, known: known() })
}

pub(super) fn find(revisions: &[Revision], number: i64) -> Option<&Revision> {
    revisions.iter().rev().find(|one| one.number == number)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use machinist_controllers::kinds::MachineDeployments;
    use machinist_provider::provider::Providers;
    use machinist_runtime::cache::kind::Kind as _;
    use serde_json::{Value, json};

    use super::*;

    pub(in super::super) fn revision(number: i64, current: bool) -> Revision {
        let value = json!({"instanceType": format!("m{number}.large"), "tags": ["a"]});
        Revision {
            number,
            set: format!("web-{number}"),
            created: "2026-01-01T00:00:00Z".parse().ok(),
            replicas: if current { 3 } else { 0 },
            change_cause: (number == 2).then(|| "faster disks".to_owned()),
            current,
            template: json!({"metadata": {"labels": {"app": "web"}}, "spec": {"providerSpec": {"value": value}}}),
        }
    }

    pub(in super::super) fn deployment(manifest: Value) -> MachineDeployment {
        let specs = Arc::new(Providers::default());
        MachineDeployments::new(specs).project(serde_json::from_value(manifest).unwrap())
    }

    fn web(paused: bool) -> MachineDeployment {
        deployment(json!({"metadata": {"name": "web"}, "spec": {"paused": paused}}))
    }

    #[test]
    fn the_previous_revision_is_the_newest_of_another_template() {
        let settled = [revision(1, false), revision(4, false), revision(5, true)];
        assert_eq!(target(&web(false), &settled, 0).unwrap().number, 4);
        // The template was changed, and the controller has not seen it.
        let changed = [revision(1, false), revision(4, false)];
        assert_eq!(target(&web(false), &changed, 0).unwrap().number, 4);
        // An earlier template was put back, and its revision has no new number yet.
        let back = [revision(1, true), revision(4, false)];
        assert_eq!(target(&web(false), &back, 0).unwrap().number, 4);
    }

    #[test]
    fn refusals_name_the_revisions() {
        let all = [revision(1, false), revision(4, true)];
        assert_eq!(target(&web(false), &all, 1).unwrap().number, 1);
        let (name, known) = ("web".to_owned(), vec![1, 4]);
        let unknown = Refusal::Unknown { name: name.clone(), number: 3, known: known.clone() };
        assert_eq!(target(&web(false), &all, 3), Err(unknown));
        let paused = Refusal::Paused { name: name.clone(), known };
        assert_eq!(target(&web(true), &all, 1), Err(paused));
        let none = Refusal::NoPrevious { name, known: vec![4] };
        assert_eq!(target(&web(false), &all[1..], 0), Err(none));
    }
}
