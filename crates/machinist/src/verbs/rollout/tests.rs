use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use machinist_domain::key::{ObjectKey, Uid};
use machinist_runtime::cache::Undecodable;
use machinist_runtime::cache::store::Entry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
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

/// A server that knows no object, and the first line of each request.
async fn empty_server() -> (String, Arc<Mutex<Vec<String>>>) {
    server("404 Not Found", json!({"kind": "Status", "code": 404, "reason": "NotFound"})).await
}

/// A server with one answer, and the first line of each request.
async fn server(status: &'static str, answer: Value) -> (String, Arc<Mutex<Vec<String>>>) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = server.accept().await {
            let mut request = vec![0; 8192];
            let length = connection.read(&mut request).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            seen.lock().unwrap().extend(text.lines().next().map(str::to_owned));
            let body = answer.to_string();
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close");
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            connection.write_all(answer.as_bytes()).await.ok();
        }
    });
    (address, requests)
}

fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    file
}

#[tokio::test]
async fn a_single_change_only_reads_the_deployment() {
    let (server, requests) = empty_server().await;
    let file = kubeconfig(&server);
    let arguments = RolloutArguments {
        command: RolloutCommand::Pause(Deployment { name: "web".to_owned() }),
        kubeconfig: Some(file.path().to_string_lossy().into_owned()),
        context: None,
        namespace: Some("ns".to_owned()),
    };
    let error = run(&arguments).await.unwrap_err().to_string();
    assert_eq!(error, messages::not_found("web", "ns"));
    let read =
        "GET /apis/machine.openshift.io/v1beta1/namespaces/ns/machinedeployments/web HTTP/1.1";
    assert_eq!(*requests.lock().unwrap(), [read]);
}

#[tokio::test]
async fn a_deployment_that_is_being_deleted_is_not_changed() {
    let web = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
        "metadata": {
            "name": "web", "namespace": "ns", "uid": "1", "resourceVersion": "1",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"selector": {}, "template": {}},
    });
    let (server, requests) = server("200 OK", web).await;
    let file = kubeconfig(&server);
    let deployment = || Deployment { name: "web".to_owned() };
    let undo = UndoArguments { deployment: deployment(), to_revision: 0, dry_run: DryRun::None };
    for command in [
        RolloutCommand::Pause(deployment()),
        RolloutCommand::Resume(deployment()),
        RolloutCommand::Restart(deployment()),
        RolloutCommand::Undo(undo),
    ] {
        let arguments = RolloutArguments {
            command,
            kubeconfig: Some(file.path().to_string_lossy().into_owned()),
            context: None,
            namespace: Some("ns".to_owned()),
        };
        let error = run(&arguments).await.unwrap_err().to_string();
        assert_eq!(error, messages::not_changed("web"));
    }
    assert!(requests.lock().unwrap().iter().all(|request| request.starts_with("GET ")));
}

#[tokio::test]
async fn a_timeout_before_the_first_answer_is_not_reported_as_a_rollout_that_waits() {
    // It never accepts a connection.
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let file = kubeconfig(&address);
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
