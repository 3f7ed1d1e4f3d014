//! Which kustomizations can be installed in one cluster at the same time, so that each has its own rights and no more.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::kustomization::{Kustomization, identity};

/// Each kustomization is in the first round that it fits into.
pub(super) fn of(all: Vec<Kustomization>) -> Vec<Vec<Kustomization>> {
    let mut rounds: Vec<Vec<Kustomization>> = Vec::new();
    for one in all {
        match rounds.iter_mut().find(|round| round.iter().all(|other| fit(&one, other))) {
            Some(round) => round.push(one),
            None => rounds.push(vec![one]),
        }
    }
    rounds
}

/// No ServiceAccount in common, and what both have is the same.
fn fit(one: &Kustomization, other: &Kustomization) -> bool {
    let (one, other) = (objects(one), objects(other));
    let both: BTreeSet<_> = one.keys().filter(|name| other.contains_key(*name)).collect();
    both.into_iter().all(|name| !name.contains("ServiceAccount ") && one[name] == other[name])
}

fn objects(one: &Kustomization) -> BTreeMap<String, &Value> {
    let named = one.documents.iter().map(|document| {
        let namespace = document["metadata"]["namespace"].as_str().unwrap_or_default();
        (format!("{} {namespace}", identity(document)), document)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kustomization(folder: &str, objects: &[(&str, &str, u32)]) -> Kustomization {
        let documents = objects.iter().map(|(kind, name, content)| {
            json!({"kind": kind, "metadata": {"name": name}, "content": content})
        });
        Kustomization { folder: folder.to_owned(), documents: documents.collect() }
    }

    #[test]
    fn accounts_and_different_objects_of_one_name_need_a_round_of_their_own() {
        let all = vec![
            kustomization("base", &[("ServiceAccount", "a", 1), ("ClusterRoleBinding", "a", 1)]),
            kustomization("other", &[("ServiceAccount", "b", 1), ("ClusterRoleBinding", "a", 1)]),
            kustomization("all", &[("ServiceAccount", "a", 1), ("ServiceAccount", "b", 1)]),
            kustomization("moved", &[("ServiceAccount", "c", 1), ("ClusterRoleBinding", "a", 2)]),
        ];
        let rounds = of(all);
        let folders: Vec<Vec<_>> =
            rounds.iter().map(|round| round.iter().map(|one| &*one.folder).collect()).collect();
        assert_eq!(folders, [vec!["base", "other"], vec!["all", "moved"]]);
    }
}
