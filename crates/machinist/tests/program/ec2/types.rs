//! Types that EC2 knows, and types that it does not.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use kube::api::ListParams;
use machinist_testbed::poll;
use serde_json::json;

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{TYPES, cloud, types_of};
use crate::ec2::support::world::{Annotations, CPU, Ec2World, LABELS, VCPU, machine, pairs};
use crate::ec2::support::{PATIENCE, stays};

const GPU_COUNT: &str = "capacity.cluster-autoscaler.kubernetes.io/gpu-count";
const GPU_TYPE: &str = "capacity.cluster-autoscaler.kubernetes.io/gpu-type";

/// Fifty types that EC2 lists.
const FAMILIES: [&str; 10] = ["c7g", "c6i", "c6g", "m5", "m6i", "m6g", "m7g", "r5", "r6i", "r6g"];
const SIZES: [&str; 5] = ["large", "xlarge", "2xlarge", "4xlarge", "8xlarge"];

/// The values of both families of keys, without the labels and the marker.
fn capacity(annotations: &Annotations) -> Vec<(&str, &str)> {
    let keys = annotations.iter().filter(|(key, _)| *key != LABELS && !key.contains("machinist"));
    keys.map(|(key, value)| (key.rsplit('/').next().unwrap_or(key), value.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_families_are_written_as_ec2_says() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("families").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    // As: name, type, vCPUs, MiB, architecture, GPUs and whose.
    let cases = [
        ("plain", "m5.large", "2", "8192", "amd64", None),
        ("nvidia", "g4dn.xlarge", "4", "16384", "amd64", Some(("1", "nvidia.com/gpu"))),
        ("arm", "m6g.large", "2", "8192", "arm64", None),
    ];
    for (name, instance_type, ..) in cases {
        world.create(name, machine(instance_type)).await?;
    }
    for (name, instance_type, vcpus, memory, arch, gpu) in cases {
        let annotations = world.until_annotated(name, VCPU, vcpus).await?;
        let quantity = format!("{memory}Mi");
        let (count, vendor) = gpu.unwrap_or(("0", ""));
        let mut expected = vec![("cpu", vcpus), ("ephemeral-disk", "120Gi")];
        if gpu.is_some() {
            expected.extend([("gpu-count", count), ("gpu-type", vendor)]);
        }
        expected.push(("memory", &quantity));
        expected.extend([("GPU", count), ("memoryMb", memory), ("vCPU", vcpus)]);
        assert_eq!(capacity(&annotations), expected, "{name}");
        let expected = [
            ("kubernetes.io/arch", arch),
            ("node.kubernetes.io/instance-type", instance_type),
            ("topology.kubernetes.io/region", "eu-west-1"),
            ("topology.kubernetes.io/zone", "eu-west-1b"),
        ];
        assert_eq!(pairs(&annotations).into_iter().collect::<Vec<_>>(), expected, "{name}");
        world.patched(name, 1).await?;
        world.hears(name, "Annotated", vcpus).await?;
    }
    assert!(cloud.front().calls_of(TYPES).iter().all(|call| call.region == "eu-west-1"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn for_openshift_alone_there_are_exactly_four_keys() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("four").await?, cloud().await?);
    let launch = Launch::new(&world)?.asking(&cloud).flag("--annotations=openshift");
    let _annotator = launch.start().await?;
    world.create("set", machine("g4dn.xlarge")).await?;
    let annotations = world.until_annotated("set", VCPU, "4").await?;
    let annotations: Vec<_> = annotations.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let expected = [
        (LABELS, "kubernetes.io/arch=amd64"),
        ("machine.openshift.io/GPU", "1"),
        ("machine.openshift.io/memoryMb", "16384"),
        (VCPU, "4"),
    ];
    assert_eq!(annotations, expected);
    Ok(())
}

/// A process that has to wait for a core in the middle of them asks twice, but not every time.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_sets_of_different_types_are_one_question() -> Result<()> {
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(questions_about_fifty().await?);
        if questions.ends_with(&[1]) {
            return Ok(());
        }
    }
    bail!("{questions:?} questions");
}

/// How many questions are asked about fifty types, each of which is in one of them.
async fn questions_about_fifty() -> Result<usize> {
    let (world, cloud) = (Ec2World::plain("fifty").await?, cloud().await?);
    let types = FAMILIES.iter().flat_map(|family| SIZES.map(|size| format!("{family}.{size}")));
    let types: Vec<_> = types.collect();
    for instance_type in &types {
        world.create(&instance_type.replace('.', "-"), machine(instance_type)).await?;
    }
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    poll::eventually(PATIENCE, "all to be annotated", || async {
        let sets = world.sets().list(&ListParams::default()).await?.items;
        let done = sets.iter().filter(|set| {
            set.metadata.annotations.as_ref().is_some_and(|found| found.contains_key(VCPU))
        });
        let done = done.count();
        ensure!(done == types.len(), "{done} are");
        Ok(())
    })
    .await?;
    let calls = cloud.front().calls_of(TYPES);
    let mut asked: Vec<_> = calls.iter().flat_map(types_of).collect();
    asked.sort_unstable();
    let wanted: BTreeSet<_> = types.iter().map(String::as_str).collect();
    assert_eq!(asked, wanted.into_iter().collect::<Vec<_>>());
    let counted = annotator.calls("ok").await?;
    assert!((counted - f64::from(u32::try_from(calls.len())?)).abs() < 0.5, "{counted}");
    Ok(calls.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn gpu_keys_go_when_the_type_has_none() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("gpus").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("set", machine("g4dn.xlarge")).await?;
    let annotations = world.until_annotated("set", CPU, "4").await?;
    assert!(annotations.contains_key(GPU_COUNT) && annotations.contains_key(GPU_TYPE));
    world.change("set", machine("m5.2xlarge")).await?;
    let annotations = world.until_annotated("set", CPU, "8").await?;
    assert!(!annotations.contains_key(GPU_COUNT) && !annotations.contains_key(GPU_TYPE));
    assert_eq!(annotations["machine.openshift.io/GPU"], "0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_counted_as_the_interfaces_of_the_type_allow() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("pods").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).flag("--max-pods=eni").start().await?;
    world.create("set", machine("m5.large")).await?;
    let annotations = world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(annotations["capacity.cluster-autoscaler.kubernetes.io/maxPods"], "29");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_asks_writes_and_says_nothing() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("resync").await?, cloud().await?);
    let launch = Launch::new(&world)?.asking(&cloud).flag("--sync-period=200ms");
    let annotator = launch.start().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    poll::eventually(PATIENCE, "some resyncs", || async {
        let settled = annotator.reconciles("settled").await?;
        ensure!(settled > 3.5, "{settled} reconciles so far");
        Ok(())
    })
    .await?;
    world.patched("set", 1).await?;
    assert_eq!(world.event_notes("set", "Annotated").await?.len(), 1);
    assert_eq!(cloud.front().calls_of(TYPES).len(), 1);
    Ok(())
}

/// Also if the catalogue has it: f1.2xlarge is one that EC2 has retired.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_ec2_does_not_list_is_unknown() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("unknown").await?, cloud().await?);
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    let types = ["m99.mega", "f1.2xlarge"];
    for instance_type in types {
        let name = &instance_type[..2];
        world.create(name, machine("m5.large")).await?;
        let before = world.until_annotated(name, VCPU, "2").await?;
        world.change(name, machine(instance_type)).await?;
        world.hears(name, "FailedUpdate", instance_type).await?;
        assert_eq!(world.annotations(name).await?, before);
    }
    // No further calls until something changes.
    let asked = cloud.front().calls_of(TYPES).len();
    let refused = annotator.reconciles("refused").await?;
    stays("unknown types are left alone", async || {
        let calls = cloud.front().calls_of(TYPES).len();
        ensure!(calls == asked, "{calls} calls, {asked} before");
        let now = annotator.reconciles("refused").await?;
        ensure!(now <= refused + 1.5, "{now} reconciles, {refused} before");
        Ok(())
    })
    .await?;
    for instance_type in types {
        let events = world.event_notes(&instance_type[..2], "FailedUpdate").await?;
        assert_eq!(events.len(), 1, "{events:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_sets_of_another_provider_cause_no_call_to_ec2_and_need_no_secret() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("foreign").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    let machine = json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.medium",
        "credentialsSecret": {"name": "missing"},
    });
    world.create("set", machine).await?;
    world.until_annotated("set", VCPU, "4").await?;
    assert!(cloud.front().calls_of(TYPES).is_empty());
    assert!(world.event_notes("set", "CatalogueUsed").await?.is_empty());
    Ok(())
}
