use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_runtime::cache::Undecodable;
use machinist_runtime::cache::store::Entry;
use tokio::net::TcpListener;

use super::undo::tests::deployment;
use super::*;

fn web(uid: &str) -> MachineDeployment {
    deployment(json!({"metadata": {"name": "web", "namespace": "ns", "uid": uid}, "spec": {}}))
}

#[test]
fn only_an_absent_or_another_deployment_was_deleted() {
    let key = ObjectKey::new("ns", "web");
    let known = |uid| Some(Entry::Known(Arc::new(web(uid))));
    let undecodable = |uid| {
        let (labels, owners) = (BTreeMap::new(), Vec::new());
        let error = "spec.replicas: invalid type".to_owned();
        let one = Undecodable { meta: web(uid).meta, labels, owners, error };
        Some(Entry::Undecodable(Arc::new(one)))
    };
    let failure = |entry, uid: &mut Option<Uid>| {
        cluster::same(entry, &key, uid).map(drop).unwrap_err().to_string()
    };
    let mut uid = None;
    assert_eq!(failure(None, &mut uid), messages::not_found("web", "ns"));
    assert!(cluster::same(known("1"), &key, &mut uid).is_ok());
    let expected = messages::undecodable("web", "spec.replicas: invalid type");
    assert_eq!(failure(undecodable("1"), &mut uid), expected);
    assert!(cluster::same(known("1"), &key, &mut uid).is_ok());
    for gone in [None, known("2"), undecodable("2")] {
        assert_eq!(failure(gone, &mut uid), messages::deleted("web"));
    }
}

#[tokio::test]
async fn a_timeout_before_the_first_answer_is_not_reported_as_a_rollout_that_waits() {
    // It never accepts a connection.
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    let status = StatusArguments {
        deployment: Deployment { name: "web".to_owned() },
        watch: true,
        timeout: Duration::from_millis(100),
        revision: 0,
    };
    let common = RolloutArguments {
        command: RolloutCommand::Status(status.clone()),
        kubeconfig: Some(file.path().to_string_lossy().into_owned()),
        context: None,
        namespace: Some("ns".to_owned()),
    };
    let target = Target::new(&common, "web").await.unwrap();
    let error = wait(&target, &status, None, &mut Progress::new()).await.unwrap_err();
    assert_eq!(error.to_string(), messages::timed_out(status.timeout, messages::NOT_ANSWERED));
}
