//! A recycle while the API server goes away and comes back.

use anyhow::Result;
use serde_json::json;

use super::world::alone;

#[test]
fn a_recycle_goes_on_after_the_api_server_was_restarted() -> Result<()> {
    alone(async |world| {
        let (name, sizes) = ("restarted", [1, 4, 2]);
        let old = world.group(name, sizes).await?;
        let _recycler = world.recycler(&[])?;
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        world.at_step(name, "Replacing").await?;
        world.control_plane.kill_api_server().await;
        world.control_plane.start_api_server().await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(name, sizes, &old).await?;
        let terminated = world.changes(name, &old);
        let terminated = terminated.iter().filter(|call| call.action.starts_with("Terminate"));
        assert_eq!(terminated.count(), 2, "none was terminated twice");
        Ok(())
    })
}
