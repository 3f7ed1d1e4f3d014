//! `machinist annotate` over a folder with one manifest for every instance type that EC2 lists.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use machinist_aws_spec::catalogue;

use crate::statistics::Samples;

pub(crate) const MANIFESTS: usize = 1395;
const RUNS: usize = 5;

/// The manifests are written into `folder`, which goes again.
pub(crate) fn seconds(machinist: &Path, folder: &Path) -> Result<Samples> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for entry in catalogue::entries().take(MANIFESTS) {
        fs::write(folder.join(format!("{}.yaml", entry.name)), manifest(&entry.name))?;
    }
    let mut samples = Samples::default();
    for _ in 0..RUNS {
        let start = Instant::now();
        let output = Command::new(machinist)
            .args(["annotate", "-f"])
            .arg(folder)
            .stderr(Stdio::inherit())
            .output()?;
        samples.push(start.elapsed().as_secs_f64());
        ensure!(output.status.success(), "machinist annotate ended with {}", output.status);
        let annotated =
            String::from_utf8(output.stdout)?.matches("machine.openshift.io/vCPU").count();
        ensure!(annotated == MANIFESTS, "{annotated} of {MANIFESTS} are annotated");
    }
    fs::remove_dir_all(folder)?;
    Ok(samples)
}

fn manifest(instance_type: &str) -> String {
    format!(
        "\
# {instance_type}
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: {instance_type}
  namespace: openshift-machine-api
  labels:
    machine.openshift.io/cluster-api-cluster: bench
spec:
  replicas: 0
  selector:
    matchLabels:
      machine.openshift.io/cluster-api-cluster: bench
      machine.openshift.io/cluster-api-machineset: {instance_type}
  template:
    metadata:
      labels:
        machine.openshift.io/cluster-api-cluster: bench
        machine.openshift.io/cluster-api-machine-role: worker
        machine.openshift.io/cluster-api-machine-type: worker
        machine.openshift.io/cluster-api-machineset: {instance_type}
    spec:
      providerSpec:
        value:
          apiVersion: machine.openshift.io/v1beta1
          kind: AWSMachineProviderConfig
          ami:
            id: ami-0123456789abcdef0
          blockDevices:
          - ebs:
              encrypted: true
              volumeSize: 120
              volumeType: gp3
          credentialsSecret:
            name: aws-cloud-credentials
          iamInstanceProfile:
            id: bench-worker-profile
          instanceType: {instance_type}
          placement:
            availabilityZone: eu-west-1a
            region: eu-west-1
          securityGroups:
          - filters:
            - name: tag:Name
              values:
              - bench-worker-sg
          subnet:
            filters:
            - name: tag:Name
              values:
              - bench-private-eu-west-1a
          tags:
          - name: kubernetes.io/cluster/bench
            value: owned
          userDataSecret:
            name: worker-user-data
"
    )
}
