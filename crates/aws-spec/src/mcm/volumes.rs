use machinist_provider::fields::Fields;
use serde_json::{Map, Value, json};

use super::{messages, put};

/// How machine-controller-manager names the root device, whatever the image calls it.
const ROOT: &str = "/root";

pub(super) fn devices(from: &mut Fields<'_>) -> Option<Vec<Value>> {
    let mut devices = from.list("blockDevices", |_, device| {
        device.refuse("noDevice", messages::NO_DEVICE);
        device.refuse("virtualName", messages::VIRTUAL_NAME);
        let name = device.text("deviceName");
        (name, device.object("ebs", ebs).unwrap_or_default())
    });
    // A single device is the root device, whatever its name.
    if let [(name, _)] = devices.as_mut_slice() {
        *name = None;
    }
    let devices = devices.into_iter().map(|(name, ebs)| match name.filter(|name| name != ROOT) {
        Some(name) => json!({ "deviceName": name, "ebs": ebs }),
        None => json!({ "ebs": ebs }),
    });
    let devices: Vec<_> = devices.collect();
    (!devices.is_empty()).then_some(devices)
}

fn ebs(from: &mut Fields<'_>) -> Map<String, Value> {
    let mut to = Map::new();
    put(&mut to, "volumeSize", from.count("volumeSize").filter(|size| *size > 0));
    put(&mut to, "volumeType", from.text("volumeType"));
    put(&mut to, "iops", from.count("iops").filter(|iops| *iops > 0));
    put(&mut to, "throughputMib", from.count("throughput").filter(|throughput| *throughput > 0));
    put(&mut to, "encrypted", from.flag("encrypted"));
    let key = from.text("kmsKeyID").map(|key| {
        let form = if key.starts_with("arn:") { "arn" } else { "id" };
        json!({ form: key })
    });
    put(&mut to, "kmsKey", key);
    from.refuse("snapshotID", messages::SNAPSHOT);
    if from.flag("deleteOnTermination") == Some(false) {
        from.unsupported("deleteOnTermination", messages::KEEP_VOLUME);
    }
    to
}
