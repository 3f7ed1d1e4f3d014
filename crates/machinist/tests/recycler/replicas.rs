//! Three replicas: one leads, and whatever happens to it, another one goes on where it was.
//!
//! `MACHINIST_LONG=1` has the lease last as long as in life; otherwise everything about leases is five times as fast.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use machinist_testbed::poll;
use serde_json::json;

use super::process::Process;
use super::world::{PATIENCE, World, alone};

/// What a bound of the protocol may be exceeded by on a busy machine.
const SLACK: u32 = 3;
const SIZES: [u32; 3] = [1, 4, 2];

struct Replicas<'a> {
    world: &'a World,
    processes: Vec<Process>,
    lease: Duration,
}

impl<'a> Replicas<'a> {
    async fn start(world: &'a World) -> Result<Self> {
        let lease = Duration::from_secs(if is_long() { 15 } else { 3 });
        let mut replicas = Self { world, processes: Vec::new(), lease };
        for _ in 0..3 {
            replicas.add()?;
        }
        replicas.leader().await?;
        Ok(replicas)
    }

    fn add(&mut self) -> Result<()> {
        let lease = format!("--leader-elect-lease-duration={}s", self.lease.as_secs());
        self.processes.push(self.world.recycler_in_real_time(&[&lease])?);
        Ok(())
    }

    /// Which of them leads.
    async fn leader(&self) -> Result<usize> {
        poll::eventually(PATIENCE, "one to lead", || async {
            let (holder, _) = self.world.lease().await?;
            let found = self.processes.iter().position(|one| one.is_called(&holder));
            found.with_context(|| format!("{holder} is none of ours"))
        })
        .await
    }
}

fn is_long() -> bool {
    std::env::var_os("MACHINIST_LONG").is_some()
}

/// Waits until one more instance of the group was terminated than before, and says which there are.
async fn terminated(world: &World, name: &str, old: &[String], count: usize) -> Result<()> {
    poll::eventually(PATIENCE, &format!("{count} terminations"), || async {
        let calls = world.changes(name, old);
        let calls = calls.iter().filter(|call| call.action.starts_with("Terminate")).count();
        ensure!(calls >= count, "{calls} so far");
        Ok(())
    })
    .await
}

fn none_twice(world: &World, name: &str, old: &[String]) -> Result<()> {
    let calls = world.changes(name, old);
    let mut ids: Vec<_> =
        calls.iter().filter_map(|call| call.parameters.get("InstanceId")).collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    ensure!(ids.len() == all && all == old.len(), "terminated: {ids:?}, {all} times");
    Ok(())
}

#[test]
fn whoever_is_killed_or_stopped_another_one_goes_on() -> Result<()> {
    alone(async |world| {
        let mut replicas = Replicas::start(world).await?;

        // kill -9 in the middle of a recycle.
        let name = "killed";
        let old = world.group(name, SIZES).await?;
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        terminated(world, name, &old, 1).await?;
        let leader = replicas.leader().await?;
        let (holder, changes) = world.lease().await?;
        let start = Instant::now();
        replicas.processes.remove(leader).kill().await?;
        poll::eventually(PATIENCE, "another one to lead", || async {
            let now = world.lease().await?;
            ensure!(now.0 != holder && now.1 == changes + 1, "{now:?}");
            Ok(())
        })
        .await?;
        let took = start.elapsed();
        println!("another one leads {took:?} after kill -9");
        let bound = (replicas.lease + Duration::from_secs(1)) * SLACK;
        ensure!(took <= bound, "{took:?}");
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(name, SIZES, &old).await?;
        none_twice(world, name, &old)?;

        // All are replaced one after the other, under a load of events, during a recycle.
        replicas.add()?;
        let during = "during";
        let renewed = world.group(during, SIZES).await?;
        world.create(during, json!({})).await?;
        let name = "rolled";
        let old = world.group(name, SIZES).await?;
        world.create(name, json!({"threshold": 40, "window": "1h"})).await?;
        for _ in 0..20 {
            world.complain_once(name, &old[0]).await?;
        }
        world.complain(during, &renewed[0]).await?;
        world.at_step(during, "Replacing").await?;
        for _ in 0..3 {
            let gap = roll(&mut replicas).await?;
            println!("nobody led for {gap:?}");
            ensure!(gap <= Duration::from_secs(3) * SLACK, "nobody led for {gap:?}");
            for _ in 0..6 {
                world.complain_once(name, &old[0]).await?;
            }
        }
        let past = world.ended(during).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(during, SIZES, &renewed).await?;
        none_twice(world, during, &renewed)?;
        let counted = |status: &machinist_api::event_recycler::EventRecyclerStatus| {
            let count = status.event_counts.as_ref()?.get(name).copied()?;
            (count >= 38).then_some(count)
        };
        let count = world.until(name, "all events to be counted", counted).await?;
        assert_eq!(count, 38, "no event is lost or counted twice");
        for _ in 0..2 {
            world.complain_once(name, &old[0]).await?;
        }

        // Two of three are killed: the third goes on.
        world.at_step(name, "Replacing").await?;
        let leader = replicas.leader().await?;
        replicas.processes.swap(0, leader);
        for mut process in replicas.processes.drain(..2) {
            process.kill().await?;
        }
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        assert_eq!(past.event_count, Some(40));
        world.is_renewed(name, SIZES, &old).await?;
        none_twice(world, name, &old)
    })
}

/// Stops the leader as a rolling update does, after another one has been started, and says for how long nobody led.
async fn roll(replicas: &mut Replicas<'_>) -> Result<Duration> {
    replicas.add()?;
    let leader = replicas.leader().await?;
    let (holder, _) = replicas.world.lease().await?;
    let mut stopped = replicas.processes.remove(leader);
    let start = Instant::now();
    let (ended, gap) = tokio::join!(stopped.terminate(), async {
        let world = replicas.world;
        poll::eventually(PATIENCE, "another one to lead", || async {
            let (now, _) = world.lease().await?;
            ensure!(!now.is_empty() && now != holder, "{now:?}");
            Ok(start.elapsed())
        })
        .await
    });
    ended?;
    gap
}
