//! The Node that nobody here has heard of: it registered a moment before its instance went, and the watch has not told yet.
//!
//! Asked for live, for a machine that was never linked, or whose link no drain has looked at, between the end of its instance and its own; otherwise
//! that Node would stay for ever.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_provider::cloud::AddressKind;
use machinist_runtime::cluster::ApiError;

use super::MachineController;
use crate::kinds::{Machine, Node};

/// The Node of a machine, found live: under the name that the machine names, or those that its instance has, or where none is known, among all.
pub(super) async fn find(
    controller: &MachineController,
    machine: &Machine,
) -> Result<Option<Arc<Node>>, ApiError> {
    let names = names(machine);
    if names.is_empty() {
        // An instance whose creation was never answered, and which was deleted before anybody looked: rare enough for a list.
        controller.nodes.verify().await?;
    }
    for name in names {
        controller.nodes.read_live(&ObjectKey::new("", name)).await?;
    }
    Ok(controller.triggers.node_of(machine))
}

fn names(machine: &Machine) -> BTreeSet<Arc<str>> {
    if let Some(named) = &machine.status.node_ref {
        return BTreeSet::from([Arc::clone(&named.name)]);
    }
    let names = machine.status.addresses.iter().filter(|address| match address.kind {
        AddressKind::InternalDns | AddressKind::Hostname => true,
        AddressKind::InternalIp | AddressKind::ExternalDns | AddressKind::ExternalIp => false,
    });
    names.map(|address| Arc::clone(&address.address)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::{object, read};
    use super::*;

    #[test]
    fn nodes_are_called_what_their_instance_is_called_inside_of_its_network() {
        let called = |addresses: serde_json::Value| {
            let machine = read(&object(&json!({"status": {"addresses": addresses}})));
            names(&machine).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let address = |kind: &str, address: &str| json!({"type": kind, "address": address});
        let all = json!([
            address("InternalIP", "10.0.0.1"),
            address("InternalDNS", "ip-10-0-0-1.internal"),
            address("Hostname", "ip-10-0-0-1.internal"),
            address("Hostname", "box"),
            address("ExternalDNS", "box.example.com"),
            address("ExternalIP", "192.0.2.1"),
        ]);
        assert_eq!(called(all), ["box", "ip-10-0-0-1.internal"]);
        // Then all Nodes are looked at.
        assert_eq!(called(json!([address("InternalIP", "10.0.0.1")])), Vec::<String>::new());
    }

    #[test]
    fn a_node_that_a_machine_names_is_called_that() {
        let named = json!({"status": {"nodeRef": {"kind": "Node", "name": "n", "uid": "u"}}});
        assert_eq!(names(&read(&object(&named))), BTreeSet::from(["n".into()]));
    }
}
