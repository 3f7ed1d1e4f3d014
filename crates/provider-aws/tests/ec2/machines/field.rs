//! A provider, a front before the shared moto, and a client that bypasses both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_ec2::Client;
use aws_sdk_ec2::config::{BehaviorVersion, Credentials as Keys, Region};
use aws_sdk_ec2::types::{
    Filter, Instance as Ec2Instance, ResourceType, Tag, TagSpecification, Volume,
};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Failure;
use machinist_provider::Pending;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, Instance, MachineRef, ObservedInstance, ProviderStatus,
};
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::Platform;
use machinist_provider::provider::Provider;
use machinist_provider_aws::AwsProvider;
use machinist_testbed::aws::{AwsBed, Front};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::support::{Counter, Secrets, bed, secret};

/// The provider's consistency window.
pub(crate) const WINDOW: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const REGION: &str = "us-east-2";
pub(crate) const UID_TAG: &str = "machinist.dev/machine-uid";

/// The platform status of a test: the part of AWS.
#[derive(Default)]
pub(crate) struct FakePlatform(Mutex<Option<Value>>);

impl FakePlatform {
    pub(crate) fn set(&self, aws: Value) {
        *self.0.lock() = Some(aws);
    }
}

impl Platform for FakePlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        let status = self.0.lock().as_ref().map(|aws| json!({ "type": "AWS", "aws": aws }));
        let raw = status.map(|status| RawValue::from_string(status.to_string()).unwrap().into());
        Box::pin(std::future::ready(Ok(raw)))
    }
}

pub(crate) struct Field {
    region: &'static str,
    pub(crate) bed: AwsBed,
    pub(crate) cloud: Arc<dyn Cloud>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) counter: Arc<Counter>,
    pub(crate) platform: Arc<FakePlatform>,
    /// moto itself, without the front.
    pub(crate) moto: Client,
    pub(crate) image: String,
}

impl Field {
    pub(crate) async fn new() -> Self {
        Self::in_region(REGION).await
    }

    /// In a region of its own, for a test that affects others.
    pub(crate) async fn in_region(region: &'static str) -> Self {
        let bed = bed().await;
        let secrets = Arc::new(Secrets::default());
        secrets.put("aws", &[("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")]);
        for namespace in ["ns", "conformance"] {
            secrets.put_in(namespace, "user-data", &[("userData", "#!/bin/sh\n")]);
        }
        let (counter, platform) = (Arc::new(Counter::default()), Arc::new(FakePlatform::default()));
        let moto = client(&format!("http://{}", bed.moto().address()), region);
        let image = image(&moto).await;
        let mut field = Self {
            region,
            cloud: AwsProvider::default().cloud(&parts(&secrets, &counter, &platform)),
            bed,
            secrets,
            counter,
            platform,
            moto,
            image,
        };
        field.restart();
        field
    }

    /// As after a restart of the process.
    pub(crate) fn restart(&mut self) {
        self.restart_with(WINDOW);
    }

    /// The same with another consistency window.
    pub(crate) fn restart_with(&mut self, consistency: Duration) {
        let mut parts = parts(&self.secrets, &self.counter, &self.platform);
        parts.timings.consistency = consistency;
        self.cloud = AwsProvider::default().cloud(&parts);
    }

    pub(crate) fn front(&self) -> &Front {
        self.bed.front()
    }

    pub(crate) fn access(&self) -> CloudAccess {
        CloudAccess {
            region: self.region.into(),
            credentials: secret("aws", 1),
            endpoint: Some(self.bed.endpoint_url().into()),
            ca_bundle: None,
        }
    }

    /// A valid spec, with fields merged into its top level.
    pub(crate) fn spec(&self, extra: &Value) -> Value {
        let mut spec = json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "ami": { "id": self.image },
            "instanceType": "m5.large",
            "placement": { "region": self.region },
            "securityGroups": [{ "filters": [{ "name": "group-name", "values": ["default"] }] }],
            "subnet": { "filters": [{ "name": "default-for-az", "values": ["true"] }] },
            "userDataSecret": { "name": "user-data" },
            "credentialsSecret": { "name": "aws" },
            "tags": [{ "name": "team", "value": "a" }],
        });
        spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        spec
    }

    pub(crate) fn machine(&self, extra: &Value) -> MachineRef {
        static MACHINES: AtomicU32 = AtomicU32::new(0);
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let spec = self.spec(extra).to_string();
        MachineRef {
            key: ObjectKey::new("ns", format!("worker-{number}")),
            uid: Uid(format!("{number:08x}-1111-4222-8333-444444444444").into()),
            attempt: 1,
            cluster: format!("field-{number}").into(),
            cluster_label: None,
            access: self.access(),
            spec: RawValue::from_string(spec).unwrap().into(),
            provider_id: None,
            status: ProviderStatus::default(),
            // moto's clock has whole seconds.
            created: jiff::Timestamp::now() - jiff::SignedDuration::from_secs(1),
        }
    }

    pub(crate) async fn prepare(&self, machine: &mut MachineRef) -> Result<(), CloudError> {
        machine.status = self.cloud.prepare(machine).await?;
        Ok(())
    }

    pub(crate) async fn prepared(&self, extra: &Value) -> MachineRef {
        let mut machine = self.machine(extra);
        self.prepare(&mut machine).await.unwrap();
        machine
    }

    /// Prepares, creates and stores the result, as a controller does.
    pub(crate) async fn created(&self, extra: &Value) -> MachineRef {
        let mut machine = self.prepared(extra).await;
        let instance = self.cloud.create(&machine).await.unwrap();
        store(&mut machine, &instance);
        machine
    }

    pub(crate) async fn observe(&self, machine: &MachineRef) -> ObservedInstance {
        self.cloud.describe(std::slice::from_ref(machine)).await.pop().unwrap()
    }

    pub(crate) async fn present(&self, machine: &MachineRef) -> Arc<Instance> {
        match self.observe(machine).await {
            ObservedInstance::Present(instance) => instance,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn delete(&self, machine: &MachineRef) {
        let start = Instant::now();
        loop {
            match self.cloud.delete(machine).await.unwrap() {
                Deletion::Gone => return,
                Deletion::UnderWay(what) => assert!(start.elapsed() < PATIENCE, "{what}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What really exists of a machine.
    pub(crate) async fn truth(&self, uid: &Uid) -> Vec<Ec2Instance> {
        let call = self.moto.describe_instances().filters(of(uid)).send().await.unwrap();
        call.reservations().iter().flat_map(|some| some.instances().to_vec()).collect()
    }

    /// The instance of a machine in moto.
    pub(crate) async fn made(&self, machine: &MachineRef) -> Ec2Instance {
        let mut all = self.truth(&machine.uid).await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    pub(crate) async fn volumes(&self, uid: &Uid) -> Vec<Volume> {
        self.moto.describe_volumes().filters(of(uid)).send().await.unwrap().volumes().to_vec()
    }

    /// The ids of the hosts of a machine that are not released.
    pub(crate) async fn hosts(&self, uid: &Uid) -> Vec<String> {
        let answer = self.moto.describe_hosts().send().await.unwrap();
        // moto does not filter hosts by tag.
        let there = answer.hosts().iter().filter(|host| {
            let is_own = tags(host.tags()).get(UID_TAG).map(String::as_str) == Some(&*uid.0);
            is_own && host.state().is_some_and(|state| state.as_str() == "available")
        });
        there.filter_map(|host| host.host_id()).map(str::to_owned).collect()
    }

    /// Creates a resource with the tag of a machine's cluster.
    pub(crate) async fn mark_cluster(&self, machine: &MachineRef) {
        let tag = Tag::builder().key(format!("kubernetes.io/cluster/{}", machine.cluster));
        let tags = TagSpecification::builder()
            .resource_type(ResourceType::SecurityGroup)
            .tags(tag.value("owned").build())
            .build();
        let call = self.moto.create_security_group().group_name(&*machine.cluster);
        call.description("x").tag_specifications(tags).send().await.unwrap();
    }

    /// Creates an instance profile; there is no IAM client here.
    pub(crate) async fn create_profile(&self, name: &str) {
        let body =
            format!("Action=CreateInstanceProfile&Version=2010-05-08&InstanceProfileName={name}");
        self.post("iam", &body).await;
    }

    /// A key of another account. moto knows accounts by the roles that were assumed in them.
    pub(crate) async fn key_of_account(&self, account: &str) -> String {
        let body = format!(
            "Action=AssumeRole&Version=2011-06-15&RoleSessionName=test&\
             RoleArn=arn%3Aaws%3Aiam%3A%3A{account}%3Arole%2Ftest"
        );
        let answer = self.post("sts", &body).await;
        let key = answer.split_once("<AccessKeyId>").and_then(|(_, rest)| rest.split_once('<'));
        key.unwrap_or_else(|| panic!("{answer}")).0.to_owned()
    }

    /// Calls a service of moto that has no client here.
    async fn post(&self, service: &str, body: &str) -> String {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {service}.amazonaws.com\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=AKIAONE/20260101/us-east-1/{service}/aws4_request, \
             SignedHeaders=host, Signature=0\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.bed.moto().address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// The parameters of the only `RunInstances` so far.
    pub(crate) fn launch_on_the_wire(&self) -> BTreeMap<String, String> {
        let calls = self.front().calls_of("RunInstances");
        assert_eq!(calls.len(), 1);
        calls[0].parameters.clone()
    }
}

/// An image with a root device. moto takes a second to list them, so it is looked up once.
async fn image(moto: &Client) -> String {
    static IMAGE: OnceCell<String> = OnceCell::const_new();
    let ask = async || {
        let images = moto.describe_images().owners("amazon").send().await.unwrap();
        let image = images.images().iter().find(|image| image.root_device_name().is_some());
        image.and_then(|image| image.image_id()).unwrap().to_owned()
    };
    IMAGE.get_or_init(ask).await.clone()
}

fn of(uid: &Uid) -> Filter {
    Filter::builder().name(format!("tag:{UID_TAG}")).values(&*uid.0).build()
}

pub(crate) fn store(machine: &mut MachineRef, instance: &Instance) {
    machine.status = instance.status.clone();
    machine.provider_id = Some(Arc::clone(&instance.provider_id));
}

pub(crate) fn tags(tags: &[Tag]) -> BTreeMap<String, String> {
    let pair = |tag: &Tag| Some((tag.key()?.to_owned(), tag.value()?.to_owned()));
    tags.iter().filter_map(pair).collect()
}

fn client(endpoint: &str, region: &'static str) -> Client {
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(region))
        .credentials_provider(Keys::new("AKIATRUTH", "x", None, None, "test"))
        .endpoint_url(endpoint)
        .build();
    Client::from_conf(config)
}

fn parts(secrets: &Arc<Secrets>, counter: &Arc<Counter>, platform: &Arc<FakePlatform>) -> Parts {
    let start = Instant::now();
    Parts {
        secrets: Arc::clone(secrets) as _,
        platform: Arc::clone(platform) as _,
        metrics: Arc::clone(counter) as _,
        clock: Arc::new(move || start.elapsed()),
        spawn: Arc::new(|task| drop(tokio::spawn(task))),
        timings: CloudTimings { consistency: WINDOW, ..CloudTimings::default() },
    }
}
