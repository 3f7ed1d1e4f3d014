//! What people read who start a control plane: progress, and errors.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use http::StatusCode;

use crate::binaries::Binary;

/// As in `domain`, on which this crate does not depend.
macro_rules! texts {
    ($(fn $name:ident($($arg:ident: $type:ty),*) = $text:literal $(, $value:expr)*;)*) => {
        $(pub(crate) fn $name($($arg: $type),*) -> String {
            format!($text $(, $value)*)
        })*
    };
}

pub(crate) const NO_CACHE: &str = "no cache folder; set MACHINIST_CACHE, XDG_CACHE_HOME or HOME";
pub(crate) const NO_ASSETS: &str = "not set; set it to a folder that has the programs";
pub(crate) const DOWNLOAD_OFF: &str = "disabled by MACHINIST_DOWNLOAD=off";
pub(crate) const ALWAYS_BUILT: &str = "kwok is built: its stage files come with the Go module";
pub(crate) const NO_ROOTS: &str = "no CA certificates found on this machine; install them";
pub(crate) const NO_GO: &str = "cannot run go; install Go 1.26 or newer (https://go.dev/dl)";
pub(crate) const CRDS_NOT_YAML: &str = "the CRD manifests are not valid YAML";
pub(crate) const NOT_SERVING: &str = "its log does not report that it serves clients";

texts! {
    fn waiting(binary: Binary) = "waiting for another process that downloads or builds {binary}";
    fn downloading(url: &str) = "downloading {url}";
    fn building(what: &str) = "building {what} with Go (takes minutes, once per machine)";
    fn still_building(what: &str, seconds: u64) = "still building {what}, {seconds} s so far";
    fn finished(what: &str, seconds: u64) = "{what}: done in {seconds} s";
    fn cannot(verb: &str, what: impl Display) = "cannot {verb} {what}";
    fn nowhere(binary: Binary, release: impl Display, tried: &[String]) =
        "cannot get {binary} of {release}; tried in this order:\n  - {}", tried.join("\n  - ");
    fn tried(place: &str, why: impl Display) = "{place}: {why}";
    fn not_cached(file: &Path) = "no {} (MACHINIST_CACHE moves the cache)", file.display();
    fn no_asset(folder: &Path, binary: Binary) = "{} has no {binary}", folder.display();
    fn unknown_version(folder: &Path, binary: Binary) =
        "{} is not used: a certain version of {binary} is required, and its own is unknown", folder.display();
    fn bad_url(url: &str) = "{url:?} is not a URL; see MACHINIST_KUBERNETES_URL and MACHINIST_ETCD_URL";
    fn no_answer(url: &str, limit: Duration) = "{url}: no answer within {limit:?}";
    fn bad_status(url: &str, status: StatusCode) = "{url}: the server answered {status}";
    fn too_many_redirects(url: &str) =
        "{url}: too many redirects; set MACHINIST_KUBERNETES_URL or MACHINIST_ETCD_URL to a mirror, or \
         MACHINIST_DOWNLOAD=off to build it with Go";
    fn no_checksum(url: &str, file: &str) = "{url}: has no SHA-256 checksum of {file}";
    fn wrong_checksum(url: &str, expected: &str, actual: &str) =
        "{url}: wrong checksum: expected {expected}, got {actual}; the file was deleted";
    fn not_in_archive(file: &str) = "the archive has no {file}";
    fn go_failed(command: &str, status: impl Display, lines: &[&str]) =
        "go {command} failed ({status}): {}", lines.join(" | ");
    fn exited(name: &str, status: &str, log: &str) = "{name} exited ({status}); the end of its log:\n{log}";
    fn not_ready(name: &str, limit: Duration, why: &anyhow::Error, log: &str) =
        "{name} is not ready after {limit:?} ({why:#}); the end of its log:\n{log}";
    fn no_port(tries: u32) = "no free port on 127.0.0.1 after {tries} tries";
    fn no_shell(error: &std::io::Error) = "cannot run sh: {error}";
    fn not_a_crd(document: usize, kind: &str) =
        "document {document} of the CRD manifests is not a valid CustomResourceDefinition (kind {kind:?})";
    fn not_established(crd: &str, limit: Duration) =
        "CustomResourceDefinition {crd} is not established after {limit:?}";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn downloads() -> [String; 8] {
        let url = "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-apiserver";
        let sums = "https://dl.k8s.io/v1.36.3/SHA256SUMS";
        [
            DOWNLOAD_OFF.to_owned(),
            ALWAYS_BUILT.to_owned(),
            NO_ROOTS.to_owned(),
            bad_url("dl.k8s.io:x"),
            bad_status(url, StatusCode::NOT_FOUND),
            too_many_redirects(url),
            no_checksum(sums, "kube-apiserver"),
            wrong_checksum(url, "e3b0c442…", "9f86d081…"),
        ]
    }

    fn errors() -> Vec<String> {
        let folder = Path::new("/opt/kubebuilder/bin");
        let file = Path::new("/cache/control-plane/kubernetes-1.36.3-linux-amd64/kube-apiserver");
        let url = "https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd.tar.gz";
        let server = "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-apiserver";
        let (binary, log) = (Binary::KubeApiserver, "bind: address already in use");
        let late = anyhow::Error::msg(no_answer("/readyz", Duration::from_secs(3)));
        let failed = go_failed("build", "exit status: 1", &["missing go.sum entry"]);
        let places = [
            tried("KUBEBUILDER_ASSETS", NO_ASSETS),
            tried("cache", not_cached(file)),
            tried("download", no_answer(server, Duration::from_secs(10))),
            tried("Go build", NO_GO),
        ];
        vec![
            NO_CACHE.to_owned(),
            nowhere(binary, "kubernetes-1.36.3", &places),
            tried("KUBEBUILDER_ASSETS", no_asset(folder, binary)),
            tried("KUBEBUILDER_ASSETS", unknown_version(folder, binary)),
            format!("{}: {}", cannot("unpack", url), not_in_archive("etcd-v3.6.8/etcd")),
            tried("Go build", failed),
            cannot("write into", folder.display()),
            cannot("run", file.display()),
            exited("kube-apiserver", "exit status: 1", log),
            not_ready("kube-apiserver", Duration::from_secs(120), &late, log),
            not_ready("etcd", Duration::from_secs(30), &anyhow::Error::msg(NOT_SERVING), log),
            no_port(200),
            cannot("create", "a certificate"),
            no_shell(&std::io::ErrorKind::NotFound.into()),
            CRDS_NOT_YAML.to_owned(),
            not_a_crd(2, "Service"),
            cannot("apply", "machines.machine.openshift.io"),
            not_established("machines.machine.openshift.io", Duration::from_secs(30)),
        ]
    }

    #[test]
    fn messages() {
        let what = "etcd of etcd-3.6.8";
        let lines = [
            waiting(Binary::Etcd),
            downloading("https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-apiserver"),
            building(what),
            still_building(what, 30),
            finished(&building(what), 50),
        ];
        let mut rows = Vec::from(lines);
        rows.extend(errors());
        rows.extend(downloads().map(|why| tried("download", why)));
        for row in &mut rows {
            let text = row.replace('|', "\\|").replace('\n', "<br>");
            *row = format!("| stderr |  | {text} |\n");
        }
        let table = ["| where | reason | message |\n|---|---|---|\n", &rows.concat()].concat();
        insta::assert_snapshot!("messages", table);
    }
}
