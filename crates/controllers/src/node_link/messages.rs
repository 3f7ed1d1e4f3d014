use machinist_domain::key::ObjectKey;
use machinist_domain::texts;

texts! {
    pub(super) fn disputed(machines: &[ObjectKey]) =
        "Several Machines match this Node: {}; correct spec.providerID of all but one", list(machines);
    pub(super) fn double(machine: &ObjectKey, nodes: &[ObjectKey]) =
        "Machine {machine} matches more than one Node (also {}); delete the Node that is stale", list(nodes);
    pub(super) fn write_failed(error: &str) = "Cannot link the Node to its Machine: {error}";
}

fn list(keys: &[ObjectKey]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let machine = |name: &str| ObjectKey::new("ns", name);
        let node = ObjectKey::new("", "worker-2");
        let row = |text| ("Event Warning", "NodeNotLinked", text);
        let rows = [
            row(disputed(&[machine("a"), machine("b")])),
            row(double(&machine("a"), &[node])),
            row(write_failed("the API server answered 403 Forbidden")),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
