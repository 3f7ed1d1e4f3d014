use std::path::PathBuf;

use anyhow::Result;
use machinist_control_plane::binaries::{GoModule, Sources};
use serde::Deserialize;

/// In Go's cache, after getting it if need be; `files` are `go.mod` and `go.sum`.
pub(crate) async fn folder_of(files: &[(&str, &str)], dependency: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(rename = "Dir")]
        folder: PathBuf,
    }

    let module = GoModule::new(&Sources::from_env()?, files)?;
    let answer = module.go(&["mod", "download", "-json", dependency]).await?;
    let Answer { folder } = serde_json::from_str(&answer)?;
    Ok(folder)
}
