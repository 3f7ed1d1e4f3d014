use super::*;

const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: from-file}}]
clusters: [{name: k, cluster: {server: 'https://SERVER:6443'}}]
users: [{name: u, user: {token: t}}]
";

struct Machine {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment {
            kubeconfig: None,
            home: Some(folder.path().join("home")),
            service: None,
            service_account: folder.path().join("sa"),
        };
        Self { folder, environment }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn kubeconfig(&self, name: &str) -> String {
        self.file(name, &KUBECONFIG.replace("SERVER", &name.replace('/', "-")))
    }

    fn pod(mut self) -> Self {
        for name in ["ca.crt", "token"] {
            self.file(&format!("sa/{name}"), "x");
        }
        self.file("sa/namespace", "of-the-pod\n");
        self.environment.service = Some(("fd00::1".to_owned(), "443".to_owned()));
        self
    }

    async fn resolve(&self, control: Option<&str>, target: Option<&str>) -> String {
        let (control, target) = (control.map(str::to_owned), target.map(str::to_owned));
        self.resolve_flags(ClusterFlags { control, target, ..ClusterFlags::default() }).await
    }

    async fn in_context(&self, name: &str) -> String {
        let context = Some(name.to_owned());
        self.resolve_flags(ClusterFlags { context, ..ClusterFlags::default() }).await
    }

    async fn resolve_flags(&self, flags: ClusterFlags) -> String {
        match resolve(&flags, &self.environment).await {
            Err(error) => format!("error: {error}"),
            Ok(choice) => {
                let target = match &choice.target {
                    TargetChoice::Same => "same".to_owned(),
                    TargetChoice::None => "none".to_owned(),
                    TargetChoice::Other(config) => config.cluster_url.to_string(),
                };
                format!(
                    "{} {} target={target}",
                    choice.control.cluster_url, choice.control.default_namespace
                )
            }
        }
    }
}

#[tokio::test]
async fn neither_flag_finds_one_cluster_as_kubectl_does() {
    let mut machine = Machine::new().pod();
    let in_pod = machine.resolve(None, None).await;
    assert_eq!(in_pod, "https://[fd00::1]:443/ of-the-pod target=same");

    machine.kubeconfig("home/.kube/config");
    let at_home = machine.resolve(None, None).await;
    assert_eq!(at_home, "https://home-.kube-config:6443/ from-file target=same");

    let missing = machine.folder.path().join("missing").display().to_string();
    machine.environment.kubeconfig = Some(format!("{missing}:{}", machine.kubeconfig("k")).into());
    let by_variable = machine.resolve(None, None).await;
    assert_eq!(by_variable, "https://k:6443/ from-file target=same");
}

#[tokio::test]
async fn a_context_is_one_of_the_kubeconfig() {
    let mut machine = Machine::new().pod();
    let without = machine.in_context("b").await;
    assert!(without.contains("--context=b needs a kubeconfig"), "{without}");
    let two = "contexts: [{name: b, context: {cluster: k, user: u, namespace: second}}, ";
    let file = machine.file("two", &KUBECONFIG.replace("contexts: [", two).replace("SERVER", "k"));
    machine.environment.kubeconfig = Some(file.into());
    assert_eq!(machine.in_context("b").await, "https://k:6443/ second target=same");
    let unknown = machine.in_context("d").await;
    assert!(unknown.starts_with("error: $KUBECONFIG"), "{unknown}");
    assert!(unknown.ends_with(" has no context \"d\""), "{unknown}");
}

#[tokio::test]
async fn one_file_is_used_as_it_is_and_errors_name_its_flag() {
    let mut machine = Machine::new().pod();
    machine.environment.kubeconfig = Some(machine.kubeconfig("other").into());
    let with =
        |path: String| ClusterFlags { kubeconfig: Some(path.into()), ..ClusterFlags::default() };
    let path = machine.file("a:b", &KUBECONFIG.replace("SERVER", "one"));
    let found = machine.resolve_flags(with(path)).await;
    assert!(found.ends_with(":6443/ from-file target=same") && !found.contains("other"), "{found}");
    let missing = machine.resolve_flags(with("/does/not/exist".to_owned())).await;
    assert!(missing.starts_with("error: --kubeconfig: cannot use /does/not/exist"), "{missing}");
    assert_eq!(missing.matches("/does/not/exist").count(), 1, "{missing}");
}

#[tokio::test]
async fn nothing_at_all_is_an_error_that_says_where_we_looked() {
    let message = Machine::new().resolve(None, None).await;
    assert!(
        message.contains("$KUBECONFIG") && message.contains("KUBERNETES_SERVICE_HOST"),
        "{message}"
    );
}

#[tokio::test]
async fn both_flags_name_two_clusters() {
    let machine = Machine::new().pod();
    let (a, b) = (machine.kubeconfig("a"), machine.kubeconfig("b"));
    let two = machine.resolve(Some(&a), Some(&b)).await;
    assert_eq!(two, "https://a:6443/ from-file target=https://b:6443/");
    let no_target = machine.resolve(Some("in-cluster"), Some("none")).await;
    assert_eq!(no_target, "https://[fd00::1]:443/ of-the-pod target=none");
    let pod_target = machine.resolve(Some(&a), Some("in-cluster")).await;
    assert_eq!(pod_target, "https://a:6443/ from-file target=https://[fd00::1]:443/");
}

#[tokio::test]
async fn one_flag_alone_or_a_bad_path_names_the_flag() {
    let machine = Machine::new();
    let a = machine.kubeconfig("a");
    let cases = [
        (Some(a.as_str()), None, "--target-kubeconfig is not"),
        (None, Some(a.as_str()), "--control-kubeconfig is not"),
        (None, Some("none"), "--control-kubeconfig is not"),
        (Some("/does/not/exist"), Some("none"), "--control-kubeconfig: cannot use /does/not/exist"),
        (
            Some(a.as_str()),
            Some("/does/not/exist"),
            "--target-kubeconfig: cannot use /does/not/exist",
        ),
        (Some("in-cluster"), Some("none"), "--control-kubeconfig=in-cluster: "),
    ];
    for (control, target, expected) in cases {
        let message = machine.resolve(control, target).await;
        assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
    }
}
