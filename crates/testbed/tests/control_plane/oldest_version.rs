//! The oldest Kubernetes version that machinist supports. A test binary of its own: its first run builds a second
//! kube-apiserver where it cannot be downloaded.

use anyhow::Result;
use machinist_control_plane::{ControlPlane, KubernetesVersion, Options};

#[tokio::test]
async fn the_oldest_version_starts_and_says_so() -> Result<()> {
    let version = KubernetesVersion::ALL[0];
    assert_ne!(version, KubernetesVersion::default());
    let options = Options { version: Some(version), ..Options::default() };
    let control_plane = ControlPlane::start_with(options).await?;
    let found = control_plane.client()?.apiserver_version().await?;
    assert_eq!(found.git_version, format!("v{version}"));
    Ok(())
}
