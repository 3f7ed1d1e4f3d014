//! Finds a Node that registered just before its instance terminated and is not in the cache yet. It is read live before
//! the finalizer is removed; otherwise it would never be deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_provider::cloud::AddressKind;
use machinist_runtime::cluster::ApiError;

use super::MachineController;
use crate::kinds::{Machine, Node};

/// Reads the Node by the name in `status.nodeRef`, else by the names of the instance, else among all Nodes.
pub(super) async fn find(
    controller: &MachineController,
    machine: &Machine,
) -> Result<Option<Arc<Node>>, ApiError> {
    let names = names(machine);
    if names.is_empty() {
        // The create request was not answered and the Machine deleted: rare enough for a list.
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
    fn uses_the_internal_names_of_the_instance() {
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
        assert_eq!(called(json!([address("InternalIP", "10.0.0.1")])), Vec::<String>::new());
    }

    #[test]
    fn uses_the_name_in_the_node_ref() {
        let named = json!({"status": {"nodeRef": {"kind": "Node", "name": "n", "uid": "u"}}});
        assert_eq!(names(&read(&object(&named))), BTreeSet::from(["n".into()]));
    }
}
