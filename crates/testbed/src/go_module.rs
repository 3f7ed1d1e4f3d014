//! Files that come with Go modules.

use std::path::PathBuf;

use anyhow::Result;
use machinist_control_plane::binaries::{GoModule, Sources};
use serde::Deserialize;

/// Where Go keeps the content of a module that the files (`go.mod`, `go.sum`) require, after getting it if need be.
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
