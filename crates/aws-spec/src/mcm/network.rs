use machinist_provider::fields::{Fields, Level};
use serde_json::{Map, Value, json};

use super::{messages, put};

/// The first network interface; machinist's instances have one.
pub(super) fn network(from: &mut Fields<'_>, to: &mut Map<String, Value>) {
    from.list("networkInterfaces", |at, interface| {
        if at > 0 {
            interface.unsupported("", messages::SECOND_INTERFACE);
        }
        let translated = one(interface);
        if at == 0 {
            to.extend(translated);
        }
    });
}

fn one(from: &mut Fields<'_>) -> Map<String, Value> {
    let mut to = Map::new();
    put(&mut to, "subnet", from.text("subnetID").map(|id| json!({ "id": id })));
    let groups = from.texts("securityGroupIDs");
    let groups: Vec<_> = groups.into_iter().map(|id| json!({ "id": id })).collect();
    put(&mut to, "securityGroups", Some(groups).filter(|groups| !groups.is_empty()));
    put(&mut to, "publicIp", from.flag("associatePublicIPAddress"));
    put(&mut to, "deviceIndex", from.count("deviceIndex").filter(|index| *index > 0));
    put(&mut to, "networkInterfaceType", kind(from));
    for name in ["ipv6AddressCount", "ipv6PrefixCount", "primaryIpv6"] {
        from.refuse(name, messages::IPV6);
    }
    from.refuse("description", messages::DESCRIPTION);
    from.refuse("networkCardIndex", messages::CARD);
    if from.flag("deleteOnTermination") == Some(false) {
        from.unsupported("deleteOnTermination", messages::KEEP_INTERFACE);
    }
    to
}

fn kind(from: &mut Fields<'_>) -> Option<&'static str> {
    match from.text("interfaceType").as_deref() {
        Some("interface") => Some("ENA"),
        Some("efa") => Some("EFA"),
        None => None,
        Some("efa-only") => {
            from.unsupported("interfaceType", messages::EFA_ONLY);
            None
        }
        Some(other) => {
            from.add(Level::Invalid, "interfaceType", messages::interface_type(other));
            None
        }
    }
}
