//! `machinist annotate` and `machinist catalogue` as people and scripts call them: exit codes, streams, and every type
//! there is.

use std::collections::HashSet;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use machinist_aws_spec::catalogue;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::process;
use serde_json::Value;
use tokio::process::Command;

const VCPU: &str = "/metadata/annotations/machine.openshift.io~1vCPU";
const CPU: &str = "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1cpu";

async fn machinist(arguments: &[&str], stdin: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    process::output(command.args(arguments), stdin).await
}

fn set(instance_type: &str) -> String {
    format!(
        "---\n# {instance_type}\napiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\n\
         metadata:\n  name: {instance_type}\n\
         spec:\n  replicas: 0\n  template:\n    spec:\n      providerSpec:\n        value:\n          \
         kind: AWSMachineProviderConfig\n          instanceType: {instance_type}\n"
    )
}

fn text(bytes: &[u8]) -> Result<&str> {
    Ok(std::str::from_utf8(bytes)?)
}

#[tokio::test]
async fn every_type_of_the_catalogue_is_annotated() -> Result<()> {
    let names: Vec<_> = catalogue::entries().map(|entry| entry.name).collect();
    let input: String = names.iter().map(|name| set(name)).collect();
    let output = machinist(&["annotate", "-f", "-"], &input).await?;
    ensure!(output.status.code() == Some(0), "{}", text(&output.stderr)?);
    let printed = text(&output.stdout)?;
    let unlimited = serde_saphyr::options! { budget: None };
    let sets: Vec<Value> = serde_saphyr::from_multiple_with_options(printed, unlimited)?;
    assert_eq!(sets.len(), names.len());
    let comments: HashSet<_> = printed.lines().filter(|line| line.starts_with('#')).collect();
    for (set, name) in sets.iter().zip(names) {
        let vcpus = catalogue::lookup(&name).context("gone")?.vcpus.to_string();
        assert_eq!(set.pointer(VCPU), Some(&Value::from(vcpus.clone())), "{name}");
        assert_eq!(set.pointer(CPU), Some(&Value::from(vcpus)), "{name}");
        assert!(comments.contains(&*format!("# {name}")), "the comment of {name} is gone");
    }
    // Doing it again changes nothing.
    let again = machinist(&["annotate", "-f", "-"], printed).await?;
    assert!(again.stdout == output.stdout);
    Ok(())
}

#[tokio::test]
async fn an_unknown_type_is_exit_1_and_everything_else_is_done() -> Result<()> {
    let input = format!("{}{}", set("m99.mega"), set("m6i.large"));
    let output = machinist(&["annotate", "-f", "-", "-o", "json"], &input).await?;
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr)?;
    assert!(errors.contains("stdin:1: MachineSet m99.mega"), "{errors}");
    let values = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let sets = values.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(sets[0].pointer("/metadata/annotations"), None);
    assert_eq!(sets[1].pointer(VCPU), Some(&Value::from("2")));
    Ok(())
}

#[tokio::test]
async fn bad_input_is_exit_2_and_nothing_is_printed() -> Result<()> {
    let broken = format!("{}---\na: [\n", set("m6i.large"));
    for arguments in [
        &["annotate", "-f", "-"][..],
        &["annotate", "-f", "/does/not/exist.yaml"],
        &["annotate"],
        &["annotate", "-f", "-", "--annotations=other"],
    ] {
        let output = machinist(arguments, &broken).await?;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn files_and_folders_are_read_in_order() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("b.yaml", &set("m6i.large"))?;
    write("a.json", r#"{"kind":"ConfigMap","metadata":{"name":"a"}}"#)?;
    write("notes.txt", "not a manifest: [")?;
    let path = folder.path().to_str().context("path")?;
    let file = format!("{path}/b.yaml");
    let output =
        machinist(&["annotate", "-f", path, "-f", &file, "--annotations=openshift"], "").await?;
    ensure!(output.status.code() == Some(0), "{}", text(&output.stderr)?);
    let documents: Vec<Value> = serde_saphyr::from_multiple(text(&output.stdout)?)?;
    let names: Vec<_> = documents.iter().map(|document| &document["metadata"]["name"]).collect();
    assert_eq!(names, ["a", "m6i.large", "m6i.large"]);
    assert_eq!(documents[2].pointer(VCPU), Some(&Value::from("2")));
    assert_eq!(documents[2].pointer(CPU), None);
    Ok(())
}

#[tokio::test]
async fn the_catalogue_lists_and_shows() -> Result<()> {
    let one = machinist(&["catalogue", "g4ad.xlarge", "-o", "json"], "").await?;
    let shown: Value = serde_json::from_slice(&one.stdout)?;
    assert_eq!(shown["gpus"][0]["maker"], "AMD");
    assert_eq!(shown["memoryMiB"], 16384);

    let some = machinist(&["catalogue", "m6i.*", "c7g.large", "-o", "yaml"], "").await?;
    let shown: Vec<Value> = serde_saphyr::from_str(text(&some.stdout)?)?;
    assert_eq!(shown[0]["name"], "c7g.large");
    assert!(shown.len() > 5);

    let all = machinist(&["catalogue"], "").await?;
    assert_eq!(text(&all.stdout)?.lines().count(), catalogue::entries().count() + 1);

    let none = machinist(&["catalogue", "m99.mega"], "").await?;
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    assert!(text(&none.stderr)?.contains("m99.mega"));
    Ok(())
}

async fn with_ec2(bed: &AwsBed, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    command
        .args(arguments)
        .env("AWS_ENDPOINT_URL", bed.endpoint_url())
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1");
    process::output(&mut command, "").await
}

#[tokio::test]
async fn ec2_is_asked_once_for_each_region_and_its_answer_counts() -> Result<()> {
    let bed = AwsBed::start().await?;
    let place = "          placement:\n            region: eu-west-1\n";
    let file = tempfile::NamedTempFile::new()?;
    // The catalogue still knows p2.xlarge; EC2 does not.
    let manifests = ["m6g.large", "c7g.large", "p2.xlarge"].map(|name| set(name) + place).concat();
    std::fs::write(file.path(), &manifests)?;
    let path = file.path().to_string_lossy();
    let output = with_ec2(&bed, &["annotate", "--source", "ec2", "-f", &path]).await?;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr)?.contains("p2.xlarge"), "{}", text(&output.stderr)?);
    let sets: Vec<Value> = serde_saphyr::from_multiple(text(&output.stdout)?)?;
    let cpus: Vec<_> = sets.iter().map(|set| set.pointer(CPU).and_then(Value::as_str)).collect();
    assert_eq!(cpus, [Some("2"), Some("2"), None]);
    let calls = bed.front().calls_of("DescribeInstanceTypes");
    let regions: HashSet<_> = calls.iter().map(|call| call.region.clone()).collect();
    assert_eq!(regions.len(), 1, "{calls:?}");
    Ok(())
}

/// What `make catalogue` does, against moto, which serves EC2's own list.
#[tokio::test]
async fn the_catalogue_that_is_shipped_is_the_one_that_ec2_gives() -> Result<()> {
    let bed = AwsBed::start().await?;
    let output = with_ec2(&bed, &["catalogue", "--generate"]).await?;
    ensure!(output.status.success(), "{}", text(&output.stderr)?);
    let shipped = include_str!("../../../aws-spec/data/instance-types.tsv");
    let printed = text(&output.stdout)?;
    let differ = printed.lines().zip(shipped.lines()).find(|(one, other)| one != other);
    ensure!(printed == shipped, "run `make catalogue`; the first difference: {differ:?}");
    Ok(())
}
