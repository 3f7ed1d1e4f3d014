//! Effects of the environment: ambient credentials, endpoints, the metadata service; and that nothing is left on disk.
//!
//! A process cannot safely change its own environment, so this test has a `main` of its own (no harness) and starts
//! itself as a child: with an argument it queries EC2 once and prints the answer. Needs `python3` for moto.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test's own main")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::retry::Failure;
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::capacity::{CapacitySource, ObservedCapacity, Question};
use machinist_provider::metrics::NoMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::Platform;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_aws::{Ec2Types, TypeTimings};
use machinist_testbed::aws::{AwsBed, Call, Transport};
use machinist_testbed::poll::eventually;
use machinist_testbed::process;
use serde_json::value::RawValue;
use tokio::process::Command;

/// The file of a Secret, unless the environment names one.
const FILE: &str = "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = filesecret\n";

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("ask-ambient") => println!("{:?}", ask(Credentials::Ambient).await),
        Some("ask-secret") => {
            let key = ObjectKey::new("ns", "aws");
            println!("{:?}", ask(Credentials::Secret { key, version: Version(1) }).await);
        }
        _ => {
            let bed = AwsBed::start().await.unwrap();
            endpoints_and_identities(&bed).await;
            web_identity(&bed).await;
            sts_of_the_cluster(&bed).await;
            endpoint_in_a_secret(&bed).await;
            a_proxy(&bed).await;
            no_metadata_service().await;
            println!("test result: ok (environment)");
        }
    }
}

/// The child: one query.
async fn ask(credentials: Credentials) -> ObservedCapacity {
    struct OneSecret;
    impl SecretReader for OneSecret {
        fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
            let file = std::env::var("SECRET_FILE").unwrap_or_else(|_| FILE.to_owned());
            let data = SecretData([("credentials".to_owned(), file.into())].into());
            Box::pin(std::future::ready(Ok(data)))
        }
    }
    struct Status(String);
    impl Platform for Status {
        fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
            let status = RawValue::from_string(self.0.clone()).unwrap();
            Box::pin(std::future::ready(Ok(Some(Arc::from(status)))))
        }
    }
    let start = Instant::now();
    let status = std::env::var("PLATFORM_STATUS").unwrap_or_else(|_| "{}".to_owned());
    let parts = Parts {
        secrets: Arc::new(OneSecret),
        platform: Arc::new(Status(status)),
        metrics: Arc::new(NoMetrics),
        clock: Arc::new(move || start.elapsed()),
        spawn: Arc::new(|task| drop(tokio::spawn(task))),
        timings: CloudTimings::default(),
    };
    let source = Ec2Types::new(&parts, TypeTimings::default());
    let access =
        CloudAccess { region: "eu-west-1".into(), credentials, endpoint: None, ca_bundle: None };
    let question = Question { access, instance_type: "m5.large".into() };
    eventually(Duration::from_secs(60), "an answer", async || {
        let answer = source.look(&question);
        anyhow::ensure!(answer != ObservedCapacity::NotAsked, "none");
        Ok(answer)
    })
    .await
    .unwrap()
}

/// Runs the child in an empty home and returns its output; the home must be empty afterwards.
async fn child(what: &str, environment: &[(&str, &str)]) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .arg(what)
        .env_clear()
        .envs([("HOME", home.path()), ("TMPDIR", home.path()), ("TMP", home.path())])
        .envs(environment.iter().copied())
        .current_dir(home.path());
    let output = process::output(&mut command, "").await.unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {printed}{errors}");
    assert_eq!(files(home.path()), 0, "{what} left something on disk");
    for text in [&printed, &errors] {
        assert!(!text.contains("filesecret") && !text.contains("envsecret"), "{text}");
    }
    printed.into_owned()
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

async fn endpoints_and_identities(bed: &AwsBed) {
    let endpoint = bed.endpoint_url();
    let keys = [("AWS_ACCESS_KEY_ID", "AKIAENV"), ("AWS_SECRET_ACCESS_KEY", "envsecret")];
    // The endpoint's variable, the identity that queries, the identity that signs.
    let cases = [
        ("AWS_ENDPOINT_URL", "ask-ambient", "AKIAENV"),
        ("AWS_ENDPOINT_URL_EC2", "ask-ambient", "AKIAENV"),
        ("AWS_ENDPOINT_URL", "ask-secret", "AKIAFILE"),
        ("AWS_ENDPOINT_URL_EC2", "ask-secret", "AKIAFILE"),
    ];
    for (variable, what, signer) in cases {
        // A profile of the process must not apply to a Secret's file.
        let mut environment = vec![(variable, endpoint.as_str()), keys[0], keys[1]];
        if what == "ask-secret" {
            environment.push(("AWS_PROFILE", "another"));
        }
        let printed = child(what, &environment).await;
        assert!(printed.contains("Present"), "{variable} {what}: {printed}");
        let last: Call = bed.front().calls().pop().unwrap();
        assert_eq!(last.access_key_id, signer, "{variable} {what}");
        assert_eq!(last.region, "eu-west-1", "{variable} {what}");
    }
}

/// A token file, for the process itself (IRSA) and in a Secret's file (OpenShift with STS).
async fn web_identity(bed: &AwsBed) {
    let endpoint = bed.endpoint_url();
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "a.b.c").unwrap();
    let path = token.path().to_str().unwrap();
    let role = "arn:aws:iam::123456789012:role/machinist";
    let file = format!(
        "[default]\nsts_regional_endpoints = regional\nrole_arn = {role}\n\
         web_identity_token_file = {path}\n"
    );
    let irsa = [("AWS_ROLE_ARN", role), ("AWS_WEB_IDENTITY_TOKEN_FILE", path)];
    for (what, environment) in
        [("ask-ambient", irsa.to_vec()), ("ask-secret", vec![("SECRET_FILE", file.as_str())])]
    {
        let environment = [vec![("AWS_ENDPOINT_URL", endpoint.as_str())], environment].concat();
        let printed = child(what, &environment).await;
        assert!(printed.contains("Present"), "{what}: {printed}");
        let calls = bed.front().calls_of("AssumeRoleWithWebIdentity");
        assert_eq!(calls.last().unwrap().parameters["WebIdentityToken"], "a.b.c", "{what}");
    }
    assert_eq!(bed.front().calls_of("AssumeRoleWithWebIdentity").len(), 2);
}

/// OpenShift's Infrastructure may name the endpoint of STS.
async fn sts_of_the_cluster(bed: &AwsBed) {
    let endpoint = bed.endpoint_url();
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "a.b.c").unwrap();
    let path = token.path().to_str().unwrap();
    let role = "arn:aws:iam::123456789012:role/machinist";
    let file = format!("[default]\nrole_arn = {role}\nweb_identity_token_file = {path}\n");
    let endpoints = format!(r#"[{{"name": "sts", "url": "{endpoint}"}}]"#);
    let status = format!(r#"{{"aws": {{"serviceEndpoints": {endpoints}}}}}"#);
    let before = bed.front().calls_of("AssumeRoleWithWebIdentity").len();
    for (what, identity) in [
        ("ask-ambient", vec![("AWS_ROLE_ARN", role), ("AWS_WEB_IDENTITY_TOKEN_FILE", path)]),
        ("ask-secret", vec![("SECRET_FILE", file.as_str())]),
    ] {
        let places =
            vec![("AWS_ENDPOINT_URL_EC2", endpoint.as_str()), ("PLATFORM_STATUS", &status)];
        let printed = child(what, &[places, identity].concat()).await;
        assert!(printed.contains("Present"), "{what}: {printed}");
    }
    assert_eq!(bed.front().calls_of("AssumeRoleWithWebIdentity").len(), before + 2);
}

/// An endpoint in a Secret is for services: the token of the process goes to STS only.
async fn endpoint_in_a_secret(bed: &AwsBed) {
    let sts = bed.endpoint_url();
    let other = bed.another_front(Transport::Plain).await.unwrap();
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "a.b.c").unwrap();
    let file = format!(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/machinist\n\
         web_identity_token_file = {}\nendpoint_url = {}\n",
        token.path().display(),
        other.endpoint_url()
    );
    let endpoints = format!(r#"[{{"name": "sts", "url": "{sts}"}}]"#);
    let status = format!(r#"{{"aws": {{"serviceEndpoints": {endpoints}}}}}"#);
    let environment = [("PLATFORM_STATUS", status.as_str()), ("SECRET_FILE", &file)];
    let before = bed.front().calls_of("AssumeRoleWithWebIdentity").len();
    let printed = child("ask-secret", &environment).await;
    assert!(printed.contains("Present"), "{printed}");
    assert_eq!(bed.front().calls_of("AssumeRoleWithWebIdentity").len(), before + 1);
    assert!(other.front().calls_of("AssumeRoleWithWebIdentity").is_empty());
    assert_eq!(other.front().calls_of("DescribeInstanceTypes").len(), 1);

    // Without any endpoint of STS it is AWS's own, which a dead proxy hides here.
    let environment = [("HTTPS_PROXY", "http://127.0.0.1:9"), ("SECRET_FILE", &file)];
    let printed = child("ask-secret", &environment).await;
    assert!(printed.contains("Unknown"), "{printed}");
    assert!(other.front().calls_of("AssumeRoleWithWebIdentity").is_empty());
}

/// Clusters without direct internet access configure a proxy in the environment. The front is the proxy here.
async fn a_proxy(bed: &AwsBed) {
    let before = bed.front().calls_of("DescribeInstanceTypes").len();
    let environment = [
        ("HTTP_PROXY", bed.endpoint_url()),
        ("AWS_ENDPOINT_URL", "http://ec2.machinist.invalid".to_owned()),
    ];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let printed = child("ask-secret", &environment).await;
    assert!(printed.contains("Present"), "{printed}");
    assert_eq!(bed.front().calls_of("DescribeInstanceTypes").len(), before + 1);
}

/// Outside AWS there is no metadata service: a missing response must not delay for long.
async fn no_metadata_service() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let environment = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_str()),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
    ];
    let printed = child("ask-ambient", &environment).await;
    assert!(printed.contains("Unauthorised"), "{printed}");
    assert!(printed.contains("no AWS credentials"), "{printed}");
}
