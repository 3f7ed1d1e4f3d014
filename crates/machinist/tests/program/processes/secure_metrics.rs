//! Metrics with TLS, authentication and authorization, as the overlays install them: started as their ServiceAccount, a
//! scrape needs the token of an account that is bound to the ClusterRole for it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::https::{self, Answer};
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::{cluster, http, poll, service_account};
use tempfile::TempDir;

use crate::processes::support::installation::Installation;
use crate::processes::support::openshift::definition;
use crate::processes::support::process::Process;
use crate::processes::support::time::PATIENCE;

const READER: &str = "prometheus";
const STRANGER: &str = "stranger";
const NAMESPACE: &str = "monitoring";

#[tokio::test(flavor = "multi_thread")]
async fn only_metrics_readers_scrape_secure_metrics() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    for kind in ["ServiceMonitor", "PrometheusRule"] {
        let plural = format!("{}s", kind.to_lowercase());
        let crd = definition("monitoring.coreos.com", "v1", kind, &plural, "Namespaced");
        control_plane.install_crds(&crd.to_string()).await?;
    }
    let installation = Installation::apply(&control_plane, "overlays/secure-metrics").await?;
    Installation::apply(&control_plane, "overlays/recycler-secure-metrics").await?;
    let [reader, stranger] = scrapers(&control_plane).await?;
    for (namespace, account) in [
        ("machinist-system", "machineset-annotator"),
        ("machinist-system", "machinist-machines"),
        ("kube-system", "kaws-operator"),
    ] {
        may_review(&control_plane, namespace, account, &reader).await?;
    }

    let certificates = TempDir::new()?;
    mount(certificates.path(), "..1")?;
    let folder = format!("--metrics-cert-dir={}", certificates.path().display());
    let flags = installation.flags()?;
    // Reviews are no writes: they are sent in a dry run.
    let more = [folder.as_str(), "--dry-run"];
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(more).collect();
    let kubeconfig = installation.kubeconfig(&control_plane).await?;
    let process = Process::start(&kubeconfig, "secure-metrics", &flags).await?;
    process.wait_ready_with("controller ").await?;
    let mut audit = AuditLog::of(&control_plane);
    let user = installation.user();
    let mut sent = || {
        let mut entries = audit.read_new()?;
        entries.retain(|entry| entry.user == user && entry.user_agent.contains("machinist-"));
        anyhow::Ok(entries)
    };
    let idle = sent()?;
    ensure!(idle.iter().all(|entry| !entry.is_write()), "without a scrape: {idle:?}");

    assert_eq!(scrape(&process, None).await?.code, 401);
    assert_eq!(scrape(&process, Some("invented")).await?.code, 401);
    let refused = scrape(&process, Some(&stranger)).await?;
    assert!(refused.code == 403 && refused.body.contains(STRANGER), "{refused:?}");
    // The API server's authorizer may learn of a new binding later than its clients.
    let first = poll::eventually(PATIENCE, "the metrics", || async {
        let answer = scrape(&process, Some(&reader)).await?;
        ensure!(answer.code == 200 && answer.body.contains("machinist_"), "{answer:?}");
        Ok(answer)
    })
    .await?;
    assert!(http::get(process.metrics_address(), "/metrics").await.is_err(), "plain HTTP");

    mount(certificates.path(), "..2")?;
    let mut scrapes = 0;
    poll::eventually(PATIENCE, "the new certificate", || {
        scrapes += 1;
        async {
            let answer = scrape(&process, Some(&reader)).await?;
            assert_eq!(answer.code, 200, "a request failed: {answer:?}");
            ensure!(answer.certificate != first.certificate, "the certificate is the old one");
            Ok(())
        }
    })
    .await?;

    let sent = sent()?;
    let reviews = sent.iter().filter(|entry| entry.resource == "subjectaccessreviews").count();
    assert!(reviews < scrapes, "{reviews} reviews for {scrapes} scrapes");
    let others = sent.iter().filter(|it| it.is_write() && !it.resource.ends_with("reviews"));
    assert_eq!(others.map(|entry| &entry.request_uri).collect::<Vec<_>>(), [""; 0]);
    let log = process.log()?;
    assert!(!log.contains(&reader) && !log.contains(&stranger), "{log}");
    Ok(())
}

async fn scrape(process: &Process, token: Option<&str>) -> Result<Answer> {
    https::get(process.metrics_address(), "/metrics", token).await
}

/// The tokens of two accounts, one of which is bound as the component's comment says.
async fn scrapers(control_plane: &ControlPlane) -> Result<[String; 2]> {
    let binding = [
        "create",
        "clusterrolebinding",
        "machinist-metrics-reader",
        "--clusterrole=machinist-metrics-reader",
        &format!("--serviceaccount={NAMESPACE}:{READER}"),
    ];
    kubectl(control_plane, &["create", "namespace", NAMESPACE], None).await?;
    for account in [READER, STRANGER] {
        let create = ["create", "serviceaccount", account, "--namespace", NAMESPACE];
        kubectl(control_plane, &create, None).await?;
    }
    kubectl(control_plane, &binding, None).await?;
    let token = |account| service_account::token(control_plane, NAMESPACE, account);
    Ok([token(READER).await?, token(STRANGER).await?])
}

/// The component gives the account the rights that a scrape needs.
async fn may_review(
    control_plane: &ControlPlane,
    namespace: &str,
    account: &str,
    token: &str,
) -> Result<()> {
    let client = service_account::client(control_plane, namespace, account).await?;
    let spec = TokenReviewSpec { token: token.to_owned(), ..Default::default() };
    let review = TokenReview { spec, ..Default::default() };
    let reviews = Api::<TokenReview>::all(client.clone());
    let answer =
        reviews.create(&PostParams::default(), &review).await.context(account.to_owned())?;
    let user = answer.status.and_then(|status| status.user).context("a user")?;
    let path =
        NonResourceAttributes { path: Some("/metrics".to_owned()), verb: Some("get".to_owned()) };
    let spec = SubjectAccessReviewSpec {
        user: user.username,
        groups: user.groups,
        non_resource_attributes: Some(path),
        ..Default::default()
    };
    let review = SubjectAccessReview { spec, ..Default::default() };
    let reviews = Api::<SubjectAccessReview>::all(client);
    reviews.create(&PostParams::default(), &review).await.context(account.to_owned())?;
    Ok(())
}

/// A new certificate, as the kubelet mounts and replaces a Secret.
fn mount(root: &Path, version: &str) -> Result<()> {
    let made = rcgen::generate_simple_self_signed([version.to_owned()])?;
    fs::create_dir(root.join(version))?;
    for (name, content) in
        [("tls.crt", made.cert.pem()), ("tls.key", made.signing_key.serialize_pem())]
    {
        fs::write(root.join(version).join(name), content)?;
        let link = root.join(name);
        if !link.is_symlink() {
            std::os::unix::fs::symlink(Path::new("..data").join(name), link)?;
        }
    }
    std::os::unix::fs::symlink(version, root.join("..data_tmp"))?;
    fs::rename(root.join("..data_tmp"), root.join("..data"))?;
    Ok(())
}
