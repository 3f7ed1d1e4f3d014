use std::os::unix::fs::PermissionsExt as _;

use super::*;

const DOCKERFILE: &str = "FROM x\nLABEL a=\"${VERSION}\"\nUSER 65532:65532\nEXPOSE 8080\n\
    ENTRYPOINT [\"/machinist\"]\nCMD [\"run\"]\n";

fn image(archive: &Path, program: &Path) {
    let content = Content::CopyOf(program.to_owned());
    let files = [
        File {
            path: "etc/nsswitch.conf".to_owned(),
            mode: 0o644,
            content: Content::Text("hosts: files dns\n"),
        },
        File { path: "machinist".to_owned(), mode: 0o755, content },
    ];
    let settings = Settings::read(DOCKERFILE, "1.2", "abc").unwrap();
    let config = Config { settings, tag: "machinist:1.2", architecture: "arm64" };
    write(archive, &files, &config).unwrap();
}

/// The blob of a descriptor, if its digest and size are right.
fn follow(archive: &Path, descriptor: &Value) -> Value {
    let digest = descriptor["digest"].as_str().unwrap();
    let text = read(archive, &format!("blobs/{}", digest.replace(':', "/"))).unwrap();
    assert_eq!(descriptor["size"], text.len());
    assert_eq!(digest, format!("sha256:{}", hex(&Sha256::digest(&text))));
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

#[test]
fn every_digest_leads_to_its_blob_and_the_settings_are_those_of_the_dockerfile() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, program) = (folder.path().join("a.tar"), folder.path().join("program"));
    fs::write(&program, "binary").unwrap();
    image(&archive, &program);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");

    let index: Value = serde_json::from_str(&read(&archive, "index.json").unwrap()).unwrap();
    let manifest = follow(&archive, &index["manifests"][0]);
    let config = follow(&archive, &manifest["config"]);
    follow(&archive, &manifest["layers"][0]);
    assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
    assert_eq!(config["architecture"], "arm64");
    let settings = json!({
        "User": "65532:65532", "ExposedPorts": {"8080/tcp": {}}, "Entrypoint": ["/machinist"],
        "Cmd": ["run"], "Labels": {"a": "1.2"}, "WorkingDir": "/",
    });
    assert_eq!(config["config"], settings);
    let name = &index["manifests"][0]["annotations"]["io.containerd.image.name"];
    assert_eq!(name, "docker.io/library/machinist:1.2");
}

#[test]
fn the_layer_unpacks_to_the_same_files_and_equal_files_give_an_equal_image() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.tar"), folder.path().join("two.tar"));
    let program = folder.path().join("program");
    fs::write(&program, "binary").unwrap();
    image(&one, &program);
    image(&two, &program);
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());

    let root = folder.path().join("root");
    for _ in 0..2 {
        unpack(&one, &root).unwrap();
        assert_eq!(fs::read(root.join("machinist")).unwrap(), b"binary");
        let mode = fs::metadata(root.join("machinist")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let text = fs::read_to_string(root.join("etc/nsswitch.conf")).unwrap();
        assert_eq!(text, "hosts: files dns\n");
    }
}
