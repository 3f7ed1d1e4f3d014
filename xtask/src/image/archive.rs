//! An image as one file: an OCI layout in a tar archive, with the `manifest.json` that older versions of docker read.
//!
//! Layers are not compressed: what pushes them compresses them. No time is stored, so equal files give an equal image.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use super::dockerfile::Settings;
use super::files::{Content, File};

const BLOBS: &str = "blobs/sha256";

/// What is not in the files.
#[derive(Debug)]
pub(super) struct Config<'a> {
    pub(super) settings: Settings,
    /// `name:version`.
    pub(super) tag: &'a str,
    pub(super) architecture: &'a str,
}

pub(super) fn write(archive: &Path, files: &[File], config: &Config<'_>) -> Result<()> {
    let layer = archive.with_extension("layer");
    let new = archive.with_extension("new");
    let hash = write_layer(&layer, files).context("cannot write the layer")?;
    write_layout(&new, &layer, &hash, config)
        .and_then(|()| fs::rename(&new, archive))
        .and_then(|()| fs::remove_file(&layer))
        .with_context(|| format!("cannot write {}", archive.display()))
}

/// Returns its digest.
fn write_layer(layer: &Path, files: &[File]) -> Result<String> {
    let mut tar = Builder::new(Hashed { file: fs::File::create(layer)?, hash: Sha256::new() });
    let mut folders = BTreeSet::new();
    for file in files {
        let parents = Path::new(&file.path).ancestors().skip(1);
        folders.extend(parents.filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned));
    }
    for folder in folders {
        let mut header = header(EntryType::Directory, 0o755, 0);
        tar.append_data(&mut header, folder, io::empty())?;
    }
    for File { path, mode, content } in files {
        match content {
            Content::CopyOf(source) => {
                let file = fs::File::open(source).with_context(|| source.display().to_string())?;
                let mut header = header(EntryType::Regular, *mode, file.metadata()?.len());
                tar.append_data(&mut header, path, file)?;
            }
            Content::Text(text) => append(&mut tar, path, text.as_bytes(), *mode)?,
        }
    }
    let hashed = tar.into_inner()?;
    Ok(hex(&hashed.hash.finalize()))
}

fn write_layout(target: &Path, layer: &Path, hash: &str, config: &Config<'_>) -> io::Result<()> {
    let mut tar = Builder::new(fs::File::create(target)?);
    append(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
    let size = fs::metadata(layer)?.len();
    let mut layer_header = header(EntryType::Regular, 0o644, size);
    tar.append_data(&mut layer_header, format!("{BLOBS}/{hash}"), fs::File::open(layer)?)?;
    let layer = descriptor("application/vnd.oci.image.layer.v1.tar", hash, size);

    let settings = &config.settings;
    let ports = settings.ports.iter().map(|port| (format!("{port}/tcp"), json!({})));
    let platform = json!({"architecture": config.architecture, "os": "linux"});
    let image = blob(
        &mut tar,
        "application/vnd.oci.image.config.v1+json",
        &json!({
            "architecture": config.architecture,
            "os": "linux",
            "config": {
                "User": settings.user,
                "ExposedPorts": ports.collect::<serde_json::Map<_, _>>(),
                "Entrypoint": settings.entry_point,
                "Cmd": settings.command,
                "Labels": settings.labels,
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{hash}")]},
        }),
    )?;
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({"schemaVersion": 2, "mediaType": media_type, "config": image, "layers": [layer]});
    let mut manifest = blob(&mut tar, media_type, &manifest)?;
    let (_, version) = config.tag.split_once(':').unwrap_or_default();
    manifest["platform"] = platform;
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{}", config.tag),
        "org.opencontainers.image.ref.name": version,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    append(&mut tar, "index.json", index.to_string().as_bytes(), 0o644)?;
    let place = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        format!("{BLOBS}/{}", digest.trim_start_matches("sha256:"))
    };
    let for_docker = json!([{
        "Config": place(&image), "RepoTags": [config.tag], "Layers": [place(&layer)],
    }]);
    append(&mut tar, "manifest.json", for_docker.to_string().as_bytes(), 0o644)?;
    tar.into_inner()?.flush()
}

/// Unpacks the only layer of an archive that [`write`] has written, in place of what is there.
pub(super) fn unpack(archive: &Path, root: &Path) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    let manifest: Value = serde_json::from_str(&read(archive, "manifest.json")?)?;
    let layer = manifest[0]["Layers"][0].as_str().context("manifest.json names no layer")?;
    let mut outer = Archive::new(fs::File::open(archive)?);
    for entry in outer.entries()? {
        let entry = entry?;
        if entry.path()?.as_ref() == Path::new(layer) {
            Archive::new(entry).unpack(root).context("cannot unpack the layer")?;
        }
    }
    Ok(())
}

/// The text of one file of an archive.
fn read(archive: &Path, name: &str) -> Result<String> {
    let mut archive = Archive::new(fs::File::open(archive)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.as_ref() == Path::new(name) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            return Ok(text);
        }
    }
    anyhow::bail!("the archive has no {name}")
}

fn blob(tar: &mut Builder<fs::File>, media_type: &str, value: &Value) -> io::Result<Value> {
    let bytes = value.to_string().into_bytes();
    let hash = hex(&Sha256::digest(&bytes));
    append(tar, &format!("{BLOBS}/{hash}"), &bytes, 0o644)?;
    Ok(descriptor(media_type, &hash, bytes.len() as u64))
}

fn descriptor(media_type: &str, hash: &str, size: u64) -> Value {
    json!({"mediaType": media_type, "digest": format!("sha256:{hash}"), "size": size})
}

fn append<W: Write>(tar: &mut Builder<W>, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut header = header(EntryType::Regular, mode, bytes.len() as u64);
    tar.append_data(&mut header, path, bytes)
}

/// Owned by root, without a time.
fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A file that is hashed while it is written.
struct Hashed {
    file: fs::File,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests;
