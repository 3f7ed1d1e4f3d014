//! What is in the image: the binary, the shared libraries that it loads, CA certificates.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Where Debian, Fedora and Alpine have the CA certificates.
const CERTIFICATES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
const NAME_SERVICE: &str = "hosts: files dns\n";
/// Beside the C library: it loads them to resolve names. Since glibc 2.34 it has them built in.
const RESOLVERS: [&str; 3] = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

/// A file of the image.
#[derive(Debug)]
pub(super) struct File {
    /// Without the leading slash.
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    CopyOf(PathBuf),
    Text(&'static str),
}

/// Sorted by path, so that the same input gives the same image.
pub(super) fn of_binary(program: &Path, certificates: &Path) -> Result<Vec<File>> {
    let copy = |path: &str, source: &Path, mode| File {
        path: path.trim_start_matches('/').to_owned(),
        mode,
        content: Content::CopyOf(source.to_owned()),
    };
    let mut files = vec![
        copy("machinist", program, 0o755),
        copy(CERTIFICATES[0], certificates, 0o644),
        File {
            path: "etc/nsswitch.conf".to_owned(),
            mode: 0o644,
            content: Content::Text(NAME_SERVICE),
        },
    ];
    for library in libraries(program)? {
        if let Some(folder) = library.strip_suffix("libc.so.6") {
            let resolvers = RESOLVERS.iter().map(|name| format!("{folder}{name}"));
            let present = resolvers.filter(|path| Path::new(path).is_file());
            files.extend(present.map(|path| copy(&path, Path::new(&path), 0o755)));
        }
        files.push(copy(&library, Path::new(&library), 0o755));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    Ok(files)
}

/// The first file that exists.
pub(super) fn certificates() -> Result<PathBuf> {
    let found = CERTIFICATES.iter().map(PathBuf::from).find(|path| path.is_file());
    found.with_context(|| {
        format!(
            "no CA certificates in {}: install the package ca-certificates",
            CERTIFICATES.join(", ")
        )
    })
}

fn libraries(program: &Path) -> Result<Vec<String>> {
    let output = Command::new("ldd").arg(program).output();
    let output = output.context("failed to run ldd, which comes with the C library")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "ldd {}: {text}{}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    listed(&text)
}

/// From lines like `libc.so.6 => /lib/libc.so.6 (0x7f…)` and `/lib64/ld.so (0x7f…)`.
fn listed(text: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        let target = line.split_once("=> ").map_or(line, |(_, target)| target);
        match target.split(' ').next() {
            Some(path) if path.starts_with('/') => paths.push(path.to_owned()),
            _ if target.starts_with("not found") => bail!("a library is missing: {line}"),
            // The kernel provides linux-vdso; it is no file.
            _ => {}
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_listed() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibgcc_s.so.1 => /lib/x/libgcc_s.so.1 (0x7f1)\n\
            \tlibc.so.6 => /lib/x/libc.so.6 (0x7f2)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f3)\n";
        let found = listed(text).unwrap();
        assert_eq!(
            found,
            ["/lib/x/libgcc_s.so.1", "/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
        assert!(listed("\tlibz.so.1 => not found\n").is_err());
        assert!(listed("\tstatically linked\n").unwrap().is_empty());
    }
}
