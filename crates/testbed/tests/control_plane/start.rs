//! One control plane, shared by the tests of this file: start, clients, audit log, kubectl, definitions.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use machinist_control_plane::{ControlPlane, KubernetesVersion};
use machinist_testbed::audit::AuditLog;
use machinist_testbed::{kubectl, service_account};
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// For what takes a moment on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();

async fn shared() -> Result<&'static ControlPlane> {
    SHARED.get_or_try_init(ControlPlane::start).await
}

async fn namespace(client: &Client, name: &str) -> Result<()> {
    let object = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &object).await?;
    Ok(())
}

fn config_map(name: &str) -> Result<ConfigMap> {
    Ok(serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "a": "b" } }))?)
}

#[tokio::test]
async fn it_is_ready_and_tells_its_version() -> Result<()> {
    let client = shared().await?.client()?;
    let version = client.apiserver_version().await?;
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version.git_version, format!("v{}", KubernetesVersion::default()));
    }
    let ready = client.request_text(http::Request::get("/readyz").body(Vec::new())?).await?;
    assert_eq!(ready, "ok");
    Ok(())
}

#[tokio::test]
async fn a_service_account_may_do_only_what_rbac_grants() -> Result<()> {
    let control_plane = shared().await?;
    let admin = control_plane.client()?;
    namespace(&admin, "accounts").await?;
    let account: ServiceAccount =
        serde_json::from_value(json!({ "metadata": { "name": "worker" } }))?;
    Api::namespaced(admin.clone(), "accounts").create(&PostParams::default(), &account).await?;

    let worker = service_account::client(control_plane, "accounts", "worker").await?;
    let config_maps = Api::<ConfigMap>::namespaced(worker, "accounts");
    let refused = config_maps.create(&PostParams::default(), &config_map("first")?).await;
    ensure!(
        matches!(refused, Err(kube::Error::Api(ref status)) if status.code == 403),
        "{refused:?}"
    );

    let role: Role = serde_json::from_value(json!({
        "metadata": { "name": "worker" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] }],
    }))?;
    Api::namespaced(admin.clone(), "accounts").create(&PostParams::default(), &role).await?;
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "worker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "worker" },
        "subjects": [{ "kind": "ServiceAccount", "name": "worker", "namespace": "accounts" }],
    }))?;
    Api::namespaced(admin, "accounts").create(&PostParams::default(), &binding).await?;
    // The authorizer learns about the binding through a watch.
    let deadline = Instant::now() + LIMIT;
    loop {
        match config_maps.create(&PostParams::default(), &config_map("second")?).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 403 && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error).context("after the role was bound"),
        }
    }
}

#[tokio::test]
async fn an_account_that_does_not_exist_gives_no_client() -> Result<()> {
    let error = service_account::client(shared().await?, "default", "missing").await.err();
    ensure!(
        error.as_ref().is_some_and(|it| it.to_string().contains("default/missing")),
        "{error:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_audit_log_has_every_write_with_its_user_agent() -> Result<()> {
    let control_plane = shared().await?;
    let mut config = control_plane.kube_config();
    let agent = http::HeaderValue::from_static("audit-test/1");
    config.headers.push((http::header::USER_AGENT, agent));
    let client = Client::try_from(config)?;
    namespace(&client, "audited").await?;
    let config_maps = Api::<ConfigMap>::namespaced(client, "audited");

    let mut log = AuditLog::of(control_plane);
    log.skip_to_end()?;
    for number in 0..20 {
        config_maps
            .create(&PostParams::default(), &config_map(&format!("entry-{number}"))?)
            .await?;
    }
    let mut seen = Vec::new();
    let deadline = Instant::now() + LIMIT;
    while seen.len() < 20 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let new = log.read_new()?.into_iter();
        seen.extend(
            new.filter(|it| it.user_agent == "audit-test/1" && it.resource == "configmaps"),
        );
    }
    assert_eq!(seen.len(), 20);
    let last = seen.last().context("no entry")?;
    assert_eq!(
        (last.verb.as_str(), last.namespace.as_str(), last.code),
        ("create", "audited", 201)
    );
    assert_eq!((last.name.as_str(), last.user.as_str()), ("entry-19", "machinist-admin"));
    assert!(last.is_write() && last.received <= last.completed);
    Ok(())
}

#[tokio::test]
async fn kubectl_works_without_further_setup() -> Result<()> {
    let mut kubectl = kubectl::command(shared().await?).await?;
    let output = tokio::task::spawn_blocking(move || {
        kubectl.args(["get", "namespaces", "-o", "name"]).output()
    });
    let output = output.await??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stdout)?.lines().any(|line| line == "namespace/default"));
    Ok(())
}

#[tokio::test]
async fn definitions_can_be_used_as_soon_as_they_are_installed() -> Result<()> {
    let control_plane = shared().await?;
    control_plane.install_crds(WIDGETS).await?;
    let client = control_plane.client()?;
    let kind = kube::core::GroupVersionKind::gvk("machinist.test", "v1", "Widget");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&kind, "widgets");
    let widgets = Api::<kube::core::DynamicObject>::namespaced_with(client, "default", &resource);
    assert!(widgets.list(&ListParams::default()).await?.items.is_empty());
    Ok(())
}

#[tokio::test]
async fn what_is_not_a_definition_is_refused_with_its_number() -> Result<()> {
    let yaml = format!("{WIDGETS}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\n");
    let error = shared().await?.install_crds(&yaml).await.err().context("no error")?;
    ensure!(error.to_string().starts_with("document 2 of the CRD manifests is not"), "{error}");
    Ok(())
}

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.machinist.test
spec:
  group: machinist.test
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
";
