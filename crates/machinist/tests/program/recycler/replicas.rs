//! Three replicas: one leads, and whatever happens to it, another one goes on where it was.
//!
//! `MACHINIST_LONG=1`, on a quiet machine, has the lease last as long as in life and holds the replicas to what is
//! promised. Otherwise the lease is five times as short, and a machine that is busy with other tests has some seconds
//! more.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_testbed::poll;
use machinist_testbed::process::Process;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::lease_history::{Handover, LeaseHistory, between};
use super::world::{PATIENCE, RecyclerWorld, alone};

const SIZES: [u32; 3] = [1, 4, 2];
/// How many Events are written at least between two replacements.
const LOAD: i64 = 25;
/// Between two Events of the load.
const PACE: Duration = Duration::from_millis(20);

/// What is promised.
struct Bounds {
    /// A follower sleeps until the lease has run out before its own eyes, wakes up, and writes once.
    after_kill: Duration,
    /// The leader ends the step in hand and gives the lease back; a follower sees that.
    after_stop: Duration,
    /// From the last that was heard of one leader to the first of the next, where the former gave the lease back.
    gap: Duration,
}

impl Bounds {
    fn of(lease: Duration) -> Self {
        let second = Duration::from_secs(1);
        // Other tests run beside this one, so a process may wait for a core. MACHINIST_LONG=1 measures exactly.
        let busy = if is_long() { Duration::ZERO } else { 12 * second };
        Self {
            after_kill: lease + second + busy,
            after_stop: 2 * second + busy,
            gap: 3 * second + busy,
        }
    }
}

struct Replicas<'a> {
    world: &'a RecyclerWorld,
    processes: Vec<Process>,
    lease: Duration,
    history: LeaseHistory,
}

impl<'a> Replicas<'a> {
    async fn start(world: &'a RecyclerWorld) -> Result<Self> {
        let lease = Duration::from_secs(if is_long() { 15 } else { 3 });
        let history = LeaseHistory::begin(&world.client);
        let mut replicas = Self { world, processes: Vec::new(), lease, history };
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
            let holder = self.world.leader().await?;
            let found = self.processes.iter().position(|one| one.is_called(&holder));
            found.with_context(|| format!("{holder} is none of ours"))
        })
        .await
    }
}

fn is_long() -> bool {
    std::env::var_os("MACHINIST_LONG").is_some()
}

/// Waits until so many instances of the group were terminated.
async fn terminated(world: &RecyclerWorld, name: &str, old: &[String], count: usize) -> Result<()> {
    poll::eventually(PATIENCE, &format!("{count} terminations"), || async {
        let calls = world.changes(name, old);
        let calls = calls.iter().filter(|call| call.action.starts_with("Terminate")).count();
        ensure!(calls >= count, "{calls} so far");
        Ok(())
    })
    .await
}

/// Fails unless the recycle ended well, with new instances, none of which was made or removed twice.
async fn went_well(
    world: &RecyclerWorld,
    name: &str,
    sizes: [u32; 3],
    old: &[String],
) -> Result<()> {
    let past = world.ended(name).await?;
    ensure!(past.status.as_deref() == Some("Succeeded"), "{past:?}");
    world.is_renewed(name, sizes, old).await?;
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
        let bounds = Bounds::of(replicas.lease);
        a_leader_is_killed(&mut replicas, &bounds).await?;
        replicas.add()?;
        all_are_replaced(&mut replicas, &bounds).await?;
        two_of_three_are_killed(&mut replicas).await
    })
}

/// In the middle of a recycle.
async fn a_leader_is_killed(replicas: &mut Replicas<'_>, bounds: &Bounds) -> Result<()> {
    let (world, name) = (replicas.world, "killed");
    let old = world.group(name, SIZES).await?;
    world.create(name, json!({})).await?;
    world.complain(name, &old[0]).await?;
    terminated(world, name, &old, 1).await?;
    let leader = replicas.leader().await?;
    let seen = replicas.history.handovers().len();
    let killed = Timestamp::now();
    replicas.processes.remove(leader).kill().await?;
    let handover = replicas.history.handover_after(seen).await?;
    ensure!(!handover.clean && handover.gap() >= replicas.lease, "too early: {handover:?}");
    // Only who leads asks AWS.
    let continued = poll::eventually(PATIENCE, "the recycle to go on", || async {
        let calls = world.cloud.front().calls();
        let next = calls.iter().map(|call| call.at).find(|at| *at >= handover.at);
        next.context("AWS is not asked")
    })
    .await?;
    let (leads, goes_on) = (between(killed, handover.at), between(killed, continued));
    println!("after kill -9 another one leads in {leads:?}, and goes on in {goes_on:?}");
    ensure!(goes_on <= bounds.after_kill, "{goes_on:?}");
    went_well(world, name, SIZES, &old).await
}

/// During a recycle that cannot end before they are, while Events are written all the time.
async fn all_are_replaced(replicas: &mut Replicas<'_>, bounds: &Bounds) -> Result<()> {
    let (world, name, sizes) = (replicas.world, "during", [1, 5, 3]);
    let old = world.group(name, sizes).await?;
    world.pod("stays", &old[0]).await?;
    world.forbid_evictions("stays").await?;
    world.create(name, json!({})).await?;
    world.complain(name, &old[0]).await?;
    world.at_step(name, "Replacing").await?;

    let load = "load";
    let group = world.group(load, [1, 2, 1]).await?;
    let every = json!({"threshold": 1_000_000, "maxPerObject": 1_000_000, "window": "1h"});
    world.create(load, every).await?;
    let written = AtomicI64::new(0);
    let done = CancellationToken::new();
    let complain = async {
        while !done.is_cancelled() {
            world.complain_once(load, &group[0]).await?;
            written.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PACE).await;
        }
        anyhow::Ok(())
    };
    let seen = replicas.history.handovers().len();
    let replace = async {
        let _done = done.clone().drop_guard();
        let mut former = std::mem::take(&mut replicas.processes);
        while !former.is_empty() {
            replace_one(replicas, &mut former, bounds).await?;
            let enough = written.load(Ordering::Relaxed) + LOAD;
            poll::eventually(PATIENCE, "more events", || async {
                let so_far = written.load(Ordering::Relaxed);
                ensure!(so_far >= enough, "{so_far} so far");
                Ok(())
            })
            .await?;
        }
        anyhow::Ok(())
    };
    tokio::try_join!(complain, replace)?;

    let handovers = replicas.history.handovers().split_off(seen);
    let longest = handovers.iter().map(Handover::gap).max().context("no handover")?;
    let number = handovers.len();
    println!("all are replaced: {number} handovers, no leader for {longest:?} at most");
    ensure!(longest <= bounds.gap, "{handovers:?}");
    world.allow_evictions("stays").await?;
    went_well(world, name, sizes, &old).await?;
    let written = written.into_inner();
    let counted = |status: &EventRecyclerStatus| {
        let count = *status.event_counts.as_ref()?.get(load)?;
        (count >= written).then_some(count)
    };
    let count = world.until(load, &format!("{written} events"), counted).await?;
    ensure!(count == written, "{written} events were written and {count} counted");
    println!("{written} events were written meanwhile, and as many counted");
    Ok(())
}

/// Starts a new one, then stops one of the `former`: the leader if it is among them, so that it changes as often as it
/// can.
async fn replace_one(
    replicas: &mut Replicas<'_>,
    former: &mut Vec<Process>,
    bounds: &Bounds,
) -> Result<()> {
    replicas.add()?;
    let seen = replicas.history.handovers().len();
    let holder = replicas.world.leader().await?;
    let leader = former.iter().position(|one| one.is_called(&holder));
    let mut stopped = former.remove(leader.unwrap_or(0));
    let begin = Timestamp::now();
    if leader.is_none() {
        return stopped.terminate().await.map(drop);
    }
    let next = replicas.history.handover_after(seen);
    let (_, handover) = tokio::try_join!(stopped.terminate(), next)?;
    let took = between(begin, handover.at);
    println!("after SIGTERM another one leads in {took:?}; no leader for {:?}", handover.gap());
    ensure!(handover.clean && took <= bounds.after_stop, "{took:?}, {handover:?}");
    Ok(())
}

/// The leader among them; the third goes on.
async fn two_of_three_are_killed(replicas: &mut Replicas<'_>) -> Result<()> {
    let (world, name) = (replicas.world, "survived");
    let old = world.group(name, SIZES).await?;
    world.create(name, json!({})).await?;
    world.complain(name, &old[0]).await?;
    terminated(world, name, &old, 1).await?;
    let leader = replicas.leader().await?;
    replicas.processes.swap(0, leader);
    for mut process in replicas.processes.drain(..2) {
        process.kill().await?;
    }
    went_well(world, name, SIZES, &old).await
}
