//! Answers, and the number of calls that they take.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use machinist_domain::shape::{Architecture, Capacity, GpuVendor};
use machinist_provider::capacity::{CapacitySource, ObservedCapacity, Question};
use machinist_provider_aws::{TypeTimings, all_types};
use machinist_testbed::poll::eventually;

use crate::stub::{Stub, page};
use crate::support::{Fixture, PATIENCE, TYPES, access, bed};

#[tokio::test]
async fn types_of_all_sorts() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let access = access(&bed.endpoint_url());
    assert_eq!(fixture.look(&access, "m6i.large"), ObservedCapacity::NotAsked);
    let plain = fixture.capacity(&access, "m6i.large").await;
    let expected = Capacity {
        vcpus: 2,
        memory_mib: 8192,
        architecture: Architecture::Amd64,
        gpus: 0,
        gpu_vendor: None,
        interfaces: 3,
        addresses_per_interface: 10,
    };
    assert_eq!(plain, expected);
    let graviton = fixture.capacity(&access, "m6g.4xlarge").await;
    assert_eq!((graviton.vcpus, graviton.architecture), (16, Architecture::Arm64));
    let nvidia = fixture.capacity(&access, "g4dn.12xlarge").await;
    assert_eq!((nvidia.gpus, nvidia.gpu_vendor), (4, Some(GpuVendor::Nvidia)));
    let slice = fixture.capacity(&access, "g6f.2xlarge").await;
    assert_eq!((slice.gpus, slice.gpu_vendor), (1, Some(GpuVendor::Nvidia)));
    fixture.absent(&access, "m99.mega").await;

    let call = &bed.front().calls_of(TYPES)[0];
    assert_eq!((call.region.as_str(), call.access_key_id.as_str()), ("eu-west-1", "AKIAONE"));
    assert_eq!(call.parameters["Filter.1.Name"], "instance-type");
    let counted = fixture.counter.calls.lock().clone();
    assert!(counted.iter().all(|call| *call == (TYPES, "ok")), "{counted:?}");
    assert_eq!(counted.len(), bed.front().calls_of(TYPES).len());
}

#[tokio::test]
async fn concurrent_queries_make_one_call() {
    let bed = bed().await;
    // Long enough for fifty threads of a busy machine.
    let timings = TypeTimings { batch_window: Duration::from_secs(1), ..TypeTimings::default() };
    let fixture = Fixture::with(timings);
    let access = access(&bed.endpoint_url());
    let barrier = Arc::new(Barrier::new(50));
    let runtime = tokio::runtime::Handle::current();
    let names = ["m5.large", "m5.xlarge", "c6i.large", "r6i.large", "m99.mega"];
    let lookers: Vec<_> = (0..50)
        .map(|n| {
            let (source, barrier) = (Arc::clone(&fixture.source), Arc::clone(&barrier));
            let instance_type = names[n % names.len()].into();
            let (question, runtime) =
                (Question { access: access.clone(), instance_type }, runtime.clone());
            std::thread::spawn(move || {
                let _inside = runtime.enter();
                barrier.wait();
                source.look(&question)
            })
        })
        .collect();
    for looker in lookers {
        assert_eq!(looker.join().unwrap(), ObservedCapacity::NotAsked);
    }
    for name in &names[..4] {
        fixture.capacity(&access, name).await;
    }
    assert_eq!(bed.front().calls_of(TYPES).len(), 1);
    assert_eq!(fixture.tasks.load(Ordering::SeqCst), 1);
    assert_eq!(fixture.notified(), ["c6i.large,m5.large,m5.xlarge,m99.mega,r6i.large"]);
    assert!(fixture.counter.misses.load(Ordering::Relaxed) >= 50);
    assert_eq!(fixture.counter.hits.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn types_are_fetched_in_batches_of_a_hundred() {
    let stub = Stub::start([page(&[("t.149", 1)], None)]).await;
    let fixture = Fixture::new();
    let access = access(&stub.endpoint);
    for n in 0..150 {
        fixture.look(&access, &format!("t.{n:03}"));
    }
    assert_eq!(fixture.capacity(&access, "t.149").await.vcpus, 1);
    let requests = stub.requests.lock().clone();
    let values: Vec<usize> =
        requests.iter().map(|request| request.matches("Filter.1.Value").count()).collect();
    assert_eq!(values, [100, 50]);
}

#[tokio::test]
async fn every_page_is_read_also_after_an_empty_one() {
    let pages = [
        page(&[("a.1", 1), ("a.2", 2)], Some("second")),
        page(&[], Some("third")),
        page(&[("a.3", 3)], None),
    ];
    let stub = Stub::start(pages).await;
    let fixture = Fixture::new();
    let access = access(&stub.endpoint);
    for name in ["a.1", "a.2", "a.3"] {
        fixture.look(&access, name);
    }
    assert_eq!(fixture.capacity(&access, "a.3").await.vcpus, 3);
    assert_eq!(fixture.capacity(&access, "a.1").await.vcpus, 1);
    let requests = stub.requests.lock().clone();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].contains("NextToken=second"), "{}", requests[1]);
    assert!(requests[2].contains("NextToken=third"), "{}", requests[2]);
    assert!(requests[0].contains("app/machinist"), "{}", requests[0]);
}

#[tokio::test]
async fn the_whole_list_for_the_catalogue() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let types = all_types(fixture.secrets, &access(&bed.endpoint_url())).await.unwrap();
    assert!(types.len() >= 1000, "{}", types.len());
    assert!(types.is_sorted_by(|a, b| a.name < b.name));
    let find = |name: &str| types.iter().find(|facts| facts.name == name).unwrap();
    let p4 = find("p4d.24xlarge");
    assert_eq!((p4.gpus[0].count, &*p4.gpus[0].model), (8, "A100"));
    assert_eq!(p4.storage_gb, 8000);
    assert!(types.iter().all(|facts| facts.vcpus > 0 && facts.memory_mib > 0));
    assert!(!find("inf1.xlarge").accelerators.is_empty());
}

#[tokio::test]
async fn tasks_end_with_the_source() {
    let (bed, fixture) = (bed().await, Fixture::new());
    fixture.capacity(&access(&bed.endpoint_url()), "m5.large").await;
    let Fixture { source, tasks, .. } = fixture;
    assert_eq!(tasks.load(Ordering::SeqCst), 1);
    drop(source);
    eventually(PATIENCE, "the end of the tasks", async || {
        anyhow::ensure!(tasks.load(Ordering::SeqCst) == 0, "still there");
        Ok(())
    })
    .await
    .unwrap();
}
