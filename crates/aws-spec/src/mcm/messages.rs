//! Why a field of `AWSProviderSpec` is not translated, and what to do. Printed behind its path.

use machinist_domain::texts;

pub(super) const EBS_OPTIMIZED: &str =
    "not supported; current instance types are EBS-optimized without it";
pub(super) const MONITORING: &str =
    "not supported: instances have basic monitoring; enable detailed monitoring in EC2";
pub(super) const SOURCE_CHECK: &str = "not supported: the source/destination check stays on; \
    disable it in EC2 for each instance, or use a network plugin that needs no such routes";
pub(super) const RESERVATION_GROUP: &str =
    "not supported; name one reservation in capacityReservationId";
pub(super) const RESERVATION_PREFERENCE: &str =
    "not supported; EC2's default applies: open reservations are used";
pub(super) const METADATA_OFF: &str = "not supported: the metadata service stays on; \
    disable it in EC2 for each instance";
pub(super) const HOP_LIMIT: &str =
    "not supported; set the hop limit in the image or as the account's default in EC2";
pub(super) const METADATA_IPV6: &str =
    "not supported; it follows status.platformStatus.aws.ipFamily of OpenShift's Infrastructure";
pub(super) const CORES: &str = "not supported; \
    use an instance type with the number of vCPUs, or disable threads in the user data";
pub(super) const NO_DEVICE: &str = "not supported; use an image that does not map the device";
pub(super) const VIRTUAL_NAME: &str =
    "not supported; NVMe instance store volumes are attached without it";
pub(super) const SNAPSHOT: &str =
    "not supported: the volume would be empty; use an image that maps the snapshot";
pub(super) const KEEP_VOLUME: &str =
    "not supported: the volume is deleted with the instance; keep data on a PersistentVolume";
pub(super) const SECOND_INTERFACE: &str =
    "not supported: instances have one network interface, the first of the list";
pub(super) const IPV6: &str = "not supported; let the subnet assign IPv6 addresses";
pub(super) const DESCRIPTION: &str = "not supported; use tags";
pub(super) const CARD: &str = "not supported: the network card is always 0";
pub(super) const KEEP_INTERFACE: &str =
    "not supported: the network interface is deleted with the instance";
pub(super) const EFA_ONLY: &str = "efa-only is not supported; set networkInterfaceType to EFA";
pub(super) const PLACEMENT_GROUP: &str = "not converted, because machinist needs the name: \
    set placementGroupName to the name of the group";

texts! {
    pub(super) fn tokens(got: &str) = "must be required or optional (got {got:?})";
    pub(super) fn sev_snp(got: &str) = "must be enabled or disabled (got {got:?})";
    pub(super) fn interface_type(got: &str) = "must be interface, efa or efa-only (got {got:?})";
    pub(super) fn affinity(got: &str) = "must be default or host (got {got:?})";
    pub(super) fn several_clusters(clusters: &[&str]) =
        "several tags kubernetes.io/cluster/NAME ({}); the first is used as the cluster's name", clusters.join(", ");
    pub(super) fn role_tag(tag: &str) =
        "{tag} is left out: machine-controller-manager terminates instances with this tag and no Machine of its own";
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let constants = [
            ("ebsOptimized", EBS_OPTIMIZED),
            ("monitoring", MONITORING),
            ("srcAndDstChecksEnabled", SOURCE_CHECK),
            ("capacityReservation.capacityReservationResourceGroupArn", RESERVATION_GROUP),
            ("capacityReservation.capacityReservationPreference", RESERVATION_PREFERENCE),
            ("instanceMetadataOptions.httpEndpoint", METADATA_OFF),
            ("instanceMetadataOptions.httpPutResponseHopLimit", HOP_LIMIT),
            ("instanceMetadataOptions.httpProtocolIpv6", METADATA_IPV6),
            ("cpuOptions.coreCount", CORES),
            ("blockDevices[1].noDevice", NO_DEVICE),
            ("blockDevices[1].virtualName", VIRTUAL_NAME),
            ("blockDevices[1].ebs.snapshotID", SNAPSHOT),
            ("blockDevices[1].ebs.deleteOnTermination", KEEP_VOLUME),
            ("networkInterfaces[1]", SECOND_INTERFACE),
            ("networkInterfaces[0].ipv6AddressCount", IPV6),
            ("networkInterfaces[0].description", DESCRIPTION),
            ("networkInterfaces[0].networkCardIndex", CARD),
            ("networkInterfaces[0].deleteOnTermination", KEEP_INTERFACE),
            ("networkInterfaces[0].interfaceType", EFA_ONLY),
            ("placement.groupId", PLACEMENT_GROUP),
        ];
        let values = [
            ("instanceMetadataOptions.httpTokens", tokens("always")),
            ("cpuOptions.amdSevSnp", sev_snp("on")),
            ("networkInterfaces[0].interfaceType", interface_type("branch")),
            ("placement.affinity", affinity("rack")),
            ("tags", several_clusters(&["blue", "green"])),
            ("tags", role_tag("kubernetes.io/role/node")),
        ];
        let constants = constants.map(|(field, text)| (field, text.to_owned()));
        let rows: Vec<_> = constants
            .into_iter()
            .chain(values)
            .map(|(field, text)| ("stderr", field, text))
            .collect();
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
