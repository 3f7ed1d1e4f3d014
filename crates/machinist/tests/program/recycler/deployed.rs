//! The process as a whole: in a dry run, then in earnest on a node of the group that it recycles, and what its metrics
//! say in the end.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use machinist_testbed::audit::{AuditEntry, AuditLog};
use machinist_testbed::poll;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::alerts;
use super::world::{PATIENCE, RecyclerWorld, alone};

const NAME: &str = "own";
const SIZES: [u32; 3] = [1, 4, 3];

#[test]
fn a_dry_run_writes_nothing_at_all_and_in_earnest_ones_own_node_is_last() -> Result<()> {
    alone(async |world| {
        let old = world.group(NAME, SIZES).await?;
        world.create(NAME, json!({})).await?;
        world.complain(NAME, &old[0]).await?;
        nothing_is_written(world, &old).await?;

        // The first in the order of ids: it would be the first to go.
        let own = &old[0];
        let recycler = world.recycler_on(own)?;
        let [metrics] = recycler.addresses().await?;
        world.at_step(NAME, "Replacing").await?;
        let meanwhile = poll::eventually(PATIENCE, "the recycle in the metrics", || async {
            let shown = get(metrics, "/metrics").await?;
            ensure!(shown.contains("\nmachinist_recycler_active{"), "{shown}");
            Ok(shown)
        })
        .await?;
        let past = world.ended(NAME).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(NAME, SIZES, &old).await?;
        let calls = world.changes(NAME, &old);
        let mut ids = calls.iter().filter_map(|call| call.parameters.get("InstanceId"));
        assert_eq!(ids.next_back(), Some(own), "{calls:#?}");
        let afterwards = get(metrics, "/metrics").await?;
        alerts::ask_for_what_is_shown(&format!("{meanwhile}\n{afterwards}"))
    })
}

async fn nothing_is_written(world: &RecyclerWorld, old: &[String]) -> Result<()> {
    let mut pretends = world.recycler(&["--dry-run"])?;
    let plan = format!("recycle {}/{NAME} for 5 events", world.estate.region());
    poll::eventually(PATIENCE, "the plan to be said", || async {
        ensure!(pretends.log()?.contains(&plan), "{plan:?} is not in the log");
        Ok(())
    })
    .await?;
    pretends.terminate().await?;
    let mut ours = AuditLog::of(&world.control_plane).read_new()?;
    ours.retain(|entry| entry.user_agent.starts_with("machinist-"));
    ensure!(ours.iter().any(|entry| entry.resource == "eventrecyclers"), "it was not reconciled");
    ours.retain(AuditEntry::is_write);
    ensure!(ours.is_empty(), "{ours:#?}");
    ensure!(world.changes(NAME, old).is_empty(), "AWS was changed");
    Ok(())
}

async fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    ensure!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    Ok(answer)
}
