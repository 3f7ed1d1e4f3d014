//! The binary with the features of the image, as every manifest of `deploy/` starts it: with its arguments and
//! environment, against a real API server, as its ServiceAccount with the rights of the manifest and no others.
//!
//! `xtask test` and `xtask check image` build the binary.

mod binary;
mod kustomization;
mod pod;
mod rounds;

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use futures::future::join_all;
use machinist_testbed::cluster;
use machinist_testbed::imds::Imds;
use serde_json::json;

use self::kustomization::Kustomization;
use self::pod::Pod;

#[tokio::test]
async fn the_image_has_aws_and_nothing_for_trials() -> Result<()> {
    let build = binary::version().await?;
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": "development",
        "features": ["aws"],
        "providers": ["aws"],
    });
    assert_eq!(build, expected);
    let text = binary::output(&["version"]).await?;
    let first = format!("machinist {}\n", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&first) && text.ends_with("providers: aws\n"), "{text}");
    assert!(binary::output(&["playground", "--help"]).await.is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_manifest_becomes_ready_with_the_binary_of_the_image() -> Result<()> {
    let program = binary::path()?;
    let control_plane = cluster::control_plane().await?;
    let all = kustomization::all(&control_plane).await?;
    every_workload_is_in(&all)?;
    kustomization::prepare(&control_plane, &all).await?;
    let metadata_service = Imds::start().await?;
    metadata_service.recommend_rebalance("2030-01-01T00:00:00Z");

    let mut failures = Vec::new();
    for round in rounds::of(all) {
        let folders: Vec<_> = round.iter().map(|one| one.folder.as_str()).collect();
        println!("side by side: {}", folders.join(", "));
        for one in &round {
            one.apply(&control_plane).await.with_context(|| one.folder.clone())?;
        }
        let mut pods = Vec::new();
        for one in &round {
            pods.extend(Pod::all_of(one)?);
        }
        let started = pods.iter().map(|pod| pod.runs(&control_plane, &program, &metadata_service));
        for (pod, result) in pods.iter().zip(join_all(started).await) {
            failures.extend(result.err().map(|error| format!("{pod}: {error:#}")));
        }
        for one in &round {
            one.delete(&control_plane).await.with_context(|| one.folder.clone())?;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// A Deployment or DaemonSet that no kustomization installs would not be tested.
fn every_workload_is_in(all: &[Kustomization]) -> Result<()> {
    let installed: BTreeSet<_> =
        all.iter().flat_map(Kustomization::workloads).map(kustomization::identity).collect();
    for file in kustomization::manifests()? {
        for document in kustomization::documents(&file)? {
            if kustomization::is_workload(&document) {
                let name = kustomization::identity(&document);
                ensure!(installed.contains(&name), "{} is in no kustomization", file.display());
            }
        }
    }
    ensure!(!installed.is_empty(), "deploy/ has no workloads");
    Ok(())
}
