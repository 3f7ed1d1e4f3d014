use machinist_provider::fields::{Fields, Level};
use serde_json::{Map, Value, json};

use super::{messages, put};

pub(super) fn placement(from: &mut Fields<'_>, zone: Option<&str>, to: &mut Map<String, Value>) {
    let mut place = Map::new();
    let region = from.text("region");
    // A zone of another region would be refused by EC2; the subnet decides then.
    let zone = zone.filter(|zone| region.as_ref().is_some_and(|region| zone.starts_with(region)));
    put(&mut place, "region", region);
    put(&mut place, "availabilityZone", zone);
    from.object("placement", |placement| {
        put(&mut place, "tenancy", placement.text("tenancy"));
        put(to, "placementGroupPartition", placement.count("partitionNumber"));
        placement.refuse("groupId", messages::PLACEMENT_GROUP);
        put(&mut place, "host", host(placement));
    });
    put(to, "placement", Some(place));
}

fn host(from: &mut Fields<'_>) -> Option<Value> {
    let id = from.text("hostId").map(|id| json!({ "id": id }));
    let affinity = match from.text("affinity").as_deref() {
        Some("host") => "DedicatedHost",
        Some("default") | None => "AnyAvailable",
        Some(other) => {
            from.add(Level::Invalid, "affinity", messages::affinity(other));
            "AnyAvailable"
        }
    };
    let mut host = Map::new();
    put(&mut host, "dedicatedHost", id);
    let is_default = host.is_empty() && affinity == "AnyAvailable";
    host.insert("affinity".to_owned(), affinity.into());
    (!is_default).then(|| host.into())
}
