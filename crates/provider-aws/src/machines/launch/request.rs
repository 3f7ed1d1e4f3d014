//! Builds `RunInstances` from a stored launch. The same launch always results in the same request.

use aws_sdk_ec2::operation::run_instances::builders::RunInstancesFluentBuilder;
use aws_sdk_ec2::types::{
    AmdSevSnpSpecification, BlockDeviceMapping, CapacityReservationSpecification,
    CapacityReservationTarget, CpuOptionsRequest, EbsBlockDevice, HostnameType,
    IamInstanceProfileSpecification, InstanceInterruptionBehavior, InstanceMarketOptionsRequest,
    InstanceMetadataOptionsRequest, InstanceMetadataProtocolState,
    InstanceNetworkInterfaceSpecification, MarketType, Placement, PrivateDnsNameOptionsRequest,
    ResourceType, SpotInstanceType, SpotMarketOptions,
};
use machinist_aws_spec::config::Market;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::calls::tagged;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::launch::{Launch, Volume};
use crate::messages;

const OPERATION: &str = "RunInstances";

impl Ec2 {
    /// Launches the instance, or returns the one of the same token. `user_data` is base64.
    pub(crate) async fn run(
        &self,
        launch: &Launch,
        host: Option<&str>,
        user_data: Option<String>,
    ) -> Result<Ec2Instance, AwsError> {
        let call = request(self.client.run_instances(), launch, host).set_user_data(user_data);
        let answer = self.call(OPERATION, call.send()).await?;
        let read = |instance| Ec2Instance::read(instance, answer.owner_id());
        let found = answer.instances().iter().find_map(read);
        found.ok_or_else(|| AwsError::incomplete(OPERATION, messages::NO_INSTANCE_ID))
    }
}

fn request(
    call: RunInstancesFluentBuilder,
    launch: &Launch,
    host: Option<&str>,
) -> RunInstancesFluentBuilder {
    let profile = launch
        .profile
        .as_ref()
        .map(|name| IamInstanceProfileSpecification::builder().name(name).build());
    let volumes: Vec<_> = launch.volumes.iter().map(volume).collect();
    let cpu = launch.sev_snp.map(|enabled| {
        let word = if enabled {
            AmdSevSnpSpecification::Enabled
        } else {
            AmdSevSnpSpecification::Disabled
        };
        CpuOptionsRequest::builder().amd_sev_snp(word).build()
    });
    call.client_token(&launch.token)
        .min_count(1)
        .max_count(1)
        .image_id(&launch.image)
        .instance_type(launch.instance_type.as_str().into())
        .set_key_name(launch.key_name.clone())
        .set_iam_instance_profile(profile)
        .network_interfaces(interface(launch))
        .set_block_device_mappings(Some(volumes).filter(|volumes| !volumes.is_empty()))
        .tag_specifications(tagged(ResourceType::Instance, &launch.tags))
        .tag_specifications(tagged(ResourceType::Volume, &launch.tags))
        .set_placement(placement(launch, host))
        .set_instance_market_options(launch.market.as_ref().map(market))
        .set_capacity_reservation_specification(reservation(launch))
        .set_metadata_options(metadata(launch))
        .set_private_dns_name_options(launch.dual_stack.then(host_names))
        .set_cpu_options(cpu)
}

fn interface(launch: &Launch) -> InstanceNetworkInterfaceSpecification {
    InstanceNetworkInterfaceSpecification::builder()
        .device_index(launch.device_index)
        .subnet_id(&launch.subnet)
        .set_groups(Some(launch.security_groups.clone()))
        .set_interface_type(launch.interface.clone())
        .set_associate_public_ip_address(launch.public_ip)
        .set_associate_carrier_ip_address(launch.carrier_ip)
        .set_primary_ipv6(launch.primary_ipv6.then_some(true))
        .set_ipv6_address_count(launch.primary_ipv6.then_some(1))
        .build()
}

fn volume(volume: &Volume) -> BlockDeviceMapping {
    let ebs = EbsBlockDevice::builder()
        .delete_on_termination(true)
        .set_volume_size(volume.gib)
        .set_volume_type(volume.kind.as_deref().map(Into::into))
        .set_iops(volume.iops)
        .set_throughput(volume.throughput)
        .set_encrypted(volume.encrypted)
        .set_kms_key_id(volume.kms_key.clone())
        .build();
    BlockDeviceMapping::builder().device_name(&volume.device).ebs(ebs).build()
}

fn placement(launch: &Launch, host: Option<&str>) -> Option<Placement> {
    let place = &launch.placement;
    let placement = Placement::builder()
        .set_availability_zone(place.zone.clone())
        .set_group_name(place.group.clone())
        .set_partition_number(place.partition)
        .set_tenancy(place.tenancy.as_deref().map(Into::into))
        .set_affinity(place.affinity.clone())
        .set_host_id(host.map(str::to_owned))
        .build();
    (placement != Placement::builder().build()).then_some(placement)
}

fn market(terms: &Market) -> InstanceMarketOptionsRequest {
    match terms {
        Market::CapacityBlock => {
            InstanceMarketOptionsRequest::builder().market_type(MarketType::CapacityBlock).build()
        }
        Market::Spot { max_price } => {
            let spot = SpotMarketOptions::builder()
                .spot_instance_type(SpotInstanceType::OneTime)
                .instance_interruption_behavior(InstanceInterruptionBehavior::Terminate)
                .set_max_price(max_price.clone())
                .build();
            InstanceMarketOptionsRequest::builder()
                .market_type(MarketType::Spot)
                .spot_options(spot)
                .build()
        }
    }
}

fn reservation(launch: &Launch) -> Option<CapacityReservationSpecification> {
    let id = launch.capacity_reservation.as_ref()?;
    let target = CapacityReservationTarget::builder().capacity_reservation_id(id).build();
    Some(CapacityReservationSpecification::builder().capacity_reservation_target(target).build())
}

fn metadata(launch: &Launch) -> Option<InstanceMetadataOptionsRequest> {
    if launch.http_tokens.is_none() && !launch.dual_stack {
        return None;
    }
    let ipv6 = launch.dual_stack.then_some(InstanceMetadataProtocolState::Enabled);
    let options = InstanceMetadataOptionsRequest::builder()
        .set_http_tokens(launch.http_tokens.as_deref().map(Into::into))
        .set_http_protocol_ipv6(ipv6);
    Some(options.build())
}

fn host_names() -> PrivateDnsNameOptionsRequest {
    PrivateDnsNameOptionsRequest::builder()
        .hostname_type(HostnameType::ResourceName)
        .enable_resource_name_dns_a_record(true)
        .enable_resource_name_dns_aaaa_record(true)
        .build()
}
