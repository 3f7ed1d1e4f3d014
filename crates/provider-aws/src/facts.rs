//! Converts EC2's description of an instance type into plain data.

use aws_sdk_ec2::types::{
    ArchitectureType, FpgaInfo, GpuDeviceInfo, GpuInfo, InferenceAcceleratorInfo, InstanceTypeInfo,
    MediaAcceleratorInfo, NetworkInfo, NeuronInfo, ProcessorInfo,
};
use machinist_aws_spec::{Device, InstanceType, architecture};

/// `None` for a type without a name, or one that the region does not offer.
pub(crate) fn read(info: &InstanceTypeInfo) -> Option<InstanceType<'static>> {
    if info.supported_in_region == Some(false) {
        return None;
    }
    let network = info.network_info.as_ref();
    let processor = info.processor_info.as_ref();
    let architectures = processor.map(ProcessorInfo::supported_architectures).unwrap_or_default();
    Some(InstanceType {
        name: info.instance_type.as_ref()?.as_str().to_owned().into(),
        vcpus: number(info.v_cpu_info.as_ref().and_then(|cpus| cpus.default_v_cpus)),
        memory_mib: number(info.memory_info.as_ref().and_then(|memory| memory.size_in_mib)),
        architecture: architecture(architectures.iter().map(ArchitectureType::as_str)),
        gpus: gpus(info),
        accelerators: accelerators(info),
        interfaces: number(network.and_then(interfaces)),
        addresses_per_interface: number(network.and_then(|net| net.ipv4_addresses_per_interface)),
        storage_gb: number(
            info.instance_storage_info.as_ref().and_then(|storage| storage.total_size_in_gb),
        ),
    })
}

fn device(count: Option<i32>, maker: Option<&str>, model: Option<&str>) -> Device<'static> {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned().into();
    Device { count: number(count), maker: text(maker), model: text(model) }
}

fn interfaces(network: &NetworkInfo) -> Option<i32> {
    let default = Some(network.default_network_card_index.unwrap_or(0));
    let mut cards = network.network_cards().iter();
    let card = cards.find(|card| card.network_card_index == default);
    card.map_or(network.maximum_network_interfaces, |card| card.maximum_network_interfaces)
}

/// A fractional GPU (g6f) has count 0 and a logical count of 1; the device plugin counts it as a GPU.
fn gpus(info: &InstanceTypeInfo) -> Vec<Device<'static>> {
    let gpus = info.gpu_info.as_ref().map(GpuInfo::gpus).unwrap_or_default();
    let read = |gpu: &GpuDeviceInfo| {
        let whole = gpu.count.filter(|count| *count > 0);
        device(whole.or(gpu.logical_gpu_count), gpu.manufacturer(), gpu.name())
    };
    gpus.iter().map(read).collect()
}

/// First-generation Inferentia is listed both as inference accelerator and as Neuron device, and counted once.
fn accelerators(info: &InstanceTypeInfo) -> Vec<Device<'static>> {
    let neurons = info.neuron_info.as_ref().map(NeuronInfo::neuron_devices).unwrap_or_default();
    let inference = info.inference_accelerator_info.as_ref();
    let inference = inference.map(InferenceAcceleratorInfo::accelerators).unwrap_or_default();
    let media = info.media_accelerator_info.as_ref();
    let media = media.map(MediaAcceleratorInfo::accelerators).unwrap_or_default();
    let fpgas = info.fpga_info.as_ref().map(FpgaInfo::fpgas).unwrap_or_default();

    let mut devices: Vec<Device<'static>> =
        neurons.iter().map(|item| device(item.count, Some("Amazon"), item.name())).collect();
    if devices.is_empty() {
        devices.extend(
            inference.iter().map(|item| device(item.count, item.manufacturer(), item.name())),
        );
    }
    devices.extend(media.iter().map(|item| device(item.count, item.manufacturer(), item.name())));
    devices.extend(fpgas.iter().map(|item| device(item.count, item.manufacturer(), item.name())));
    devices
}

fn number<S, T>(value: Option<S>) -> T
where
    T: TryFrom<S> + Default,
{
    value.and_then(|value| T::try_from(value).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::types::{
        FpgaDeviceInfo, InferenceDeviceInfo, InstanceStorageInfo, MemoryInfo, NetworkCardInfo,
        NeuronDeviceInfo, VCpuInfo,
    };
    use machinist_domain::shape::Architecture;

    #[test]
    fn reads_all_facts_of_a_type() {
        let gpu = GpuDeviceInfo::builder().count(8).manufacturer("NVIDIA").name("A100").build();
        let network = NetworkInfo::builder()
            .maximum_network_interfaces(60)
            .network_cards(NetworkCardInfo::builder().network_card_index(1).build())
            .network_cards(
                NetworkCardInfo::builder()
                    .network_card_index(0)
                    .maximum_network_interfaces(15)
                    .build(),
            )
            .ipv4_addresses_per_interface(50)
            .build();
        let info = InstanceTypeInfo::builder()
            .instance_type("p4d.24xlarge".into())
            .v_cpu_info(VCpuInfo::builder().default_v_cpus(96).build())
            .memory_info(MemoryInfo::builder().size_in_mib(1_179_648).build())
            .processor_info(
                ProcessorInfo::builder().supported_architectures("x86_64".into()).build(),
            )
            .gpu_info(GpuInfo::builder().gpus(gpu).build())
            .network_info(network)
            .instance_storage_info(InstanceStorageInfo::builder().total_size_in_gb(8000).build())
            .build();
        let gpu = Device { count: 8, maker: "NVIDIA".into(), model: "A100".into() };
        let expected = InstanceType {
            name: "p4d.24xlarge".into(),
            vcpus: 96,
            memory_mib: 1_179_648,
            architecture: Architecture::Amd64,
            gpus: vec![gpu],
            accelerators: Vec::new(),
            interfaces: 15,
            addresses_per_interface: 50,
            storage_gb: 8000,
        };
        assert_eq!(read(&info), Some(expected));
    }

    #[test]
    fn fractional_gpu_counts_as_one() {
        let gpu = GpuDeviceInfo::builder().count(0).logical_gpu_count(1).name("L4").build();
        let info = InstanceTypeInfo::builder()
            .instance_type("g6f.large".into())
            .gpu_info(GpuInfo::builder().gpus(gpu).build());
        assert_eq!(read(&info.build()).unwrap().gpus[0].count, 1);
    }

    #[test]
    fn accelerators_of_all_kinds_are_read_and_inferentia_once() {
        let inferentia =
            InferenceDeviceInfo::builder().count(1).name("Inferentia").manufacturer("AWS").build();
        let neuron = NeuronDeviceInfo::builder().count(1).name("Inferentia").build();
        let fpga = FpgaDeviceInfo::builder().count(2).name("VU9P").manufacturer("Xilinx").build();
        let info = InstanceTypeInfo::builder()
            .instance_type("x".into())
            .inference_accelerator_info(
                InferenceAcceleratorInfo::builder().accelerators(inferentia).build(),
            )
            .neuron_info(NeuronInfo::builder().neuron_devices(neuron).build())
            .fpga_info(FpgaInfo::builder().fpgas(fpga).build())
            .build();
        let device = |count, maker: &str, model: &str| Device {
            count,
            maker: maker.to_owned().into(),
            model: model.to_owned().into(),
        };
        let facts = read(&info).unwrap();
        let expected = [device(1, "Amazon", "Inferentia"), device(2, "Xilinx", "VU9P")];
        assert_eq!(facts.accelerators, expected);
    }

    #[test]
    fn missing_and_negative_numbers_are_zero() {
        let info = InstanceTypeInfo::builder()
            .instance_type("m1.small".into())
            .memory_info(MemoryInfo::builder().size_in_mib(-1).build())
            .build();
        let expected = InstanceType {
            name: "m1.small".into(),
            vcpus: 0,
            memory_mib: 0,
            architecture: Architecture::Amd64,
            gpus: Vec::new(),
            accelerators: Vec::new(),
            interfaces: 0,
            addresses_per_interface: 0,
            storage_gb: 0,
        };
        assert_eq!(read(&info), Some(expected));
        assert_eq!(read(&InstanceTypeInfo::builder().build()), None);
        let elsewhere =
            InstanceTypeInfo::builder().instance_type("x".into()).supported_in_region(false);
        assert_eq!(read(&elsewhere.build()), None);
    }
}
