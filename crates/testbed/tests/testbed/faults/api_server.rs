//! One real API server for all tests; every test makes a world (namespace and proxy) of its own in it.

use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use tokio::sync::OnceCell;

static CONTROL_PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

/// The administrator's way to the API server.
pub(crate) async fn admin() -> kube::Config {
    let control_plane = CONTROL_PLANE.get_or_try_init(ControlPlane::start).await;
    control_plane.expect("a control plane").kube_config()
}

/// A fresh namespace with a proxy in front.
pub(crate) async fn world(name: &str) -> World {
    World::new(&admin().await, name).await.unwrap()
}
