use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::*;

/// More than a follower remembers.
const MANY: usize = 10_000;

/// The keys of deleted objects would stay until it leads.
#[tokio::test(start_paused = true)]
async fn keys_are_limited_while_another_process_leads() {
    let mut driver = driver_of(Talker::default(), &cluster(201).0);
    let (lease, until) = watch::channel(None);
    let clock: SharedClock = Arc::new(ManualClock::default());
    driver.writer.leadership = Leadership::Lease { until, clock, unanswered: Arc::default() };
    driver.workers = 0;
    let (queue, stop) = (Arc::clone(&driver.queue), CancellationToken::new());
    #[expect(clippy::disallowed_methods, reason = "it writes nothing")]
    let running = tokio::spawn(driver.run(stop.clone()));
    let depth_after = async |name: &str| {
        // The time is paused, so it passes when the driver waits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for number in 0..MANY {
            queue.add(&ObjectKey::new("ns", format!("{name}-{number}")));
        }
        queue.depth()
    };
    let followed = depth_after("deleted").await;
    assert!(followed < MANY, "{followed} keys");
    lease.send_replace(Some(Duration::MAX));
    let led = depth_after("existing").await;
    assert_eq!(led, followed + MANY, "a leader drops none");
    lease.send_replace(None);
    assert_eq!(depth_after("later").await, led, "it follows again");
    stop.cancel();
    running.await.expect("the driver ends");
}
