//! The check runs at least once, however short the deadline is, and a check that hangs is given up at the deadline.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(50);
/// For a check when the deadline has already passed.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// `what` completes the sentence "waited for …".
pub async fn eventually<T, C, F>(deadline: Duration, what: &str, mut check: C) -> Result<T>
where
    C: FnMut() -> F,
    F: Future<Output = Result<T>>,
{
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut attempts = 0_u32;
    let mut reason = String::new();
    loop {
        let left = deadline.saturating_sub(start.elapsed()).max(LAST_CHANCE);
        attempts += 1;
        match tokio::time::timeout(left, check()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(found)) => reason = format!("{found:#}"),
            Err(_) if reason.is_empty() => "the check did not end".clone_into(&mut reason),
            // Slow, or cut off at the deadline: what was found before says more.
            Err(_) => reason.push_str(" (and the last check did not end)"),
        }
        if start.elapsed() >= deadline {
            return Err(anyhow!(
                "waited {deadline:?} for {what}, in vain after {attempts} looks; the last one: {reason}"
            ));
        }
        tokio::time::sleep(pause.min(deadline.saturating_sub(start.elapsed()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Fails as soon as `check` does. The check runs at least once.
pub async fn holds_for(
    length: Duration,
    what: &str,
    mut check: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    let end = Instant::now() + length;
    loop {
        check().await.with_context(|| what.to_owned())?;
        if Instant::now() >= end {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_that_comes_late_is_returned() {
        let mut looks = 0;
        let value = eventually(Duration::from_secs(5), "the third look", || {
            looks += 1;
            let now = looks;
            async move {
                anyhow::ensure!(now == 3, "only look {now}");
                Ok(now)
            }
        })
        .await
        .unwrap();
        assert_eq!(value, 3);
    }

    #[tokio::test]
    async fn the_failure_names_the_wish_and_what_was_seen() {
        let error = eventually(Duration::from_millis(30), "a blue moon", || async {
            Err::<(), _>(anyhow!("it is white"))
        })
        .await
        .unwrap_err()
        .to_string();
        assert!(error.contains("a blue moon") && error.contains("it is white"), "{error}");
    }

    #[tokio::test]
    async fn an_expired_deadline_still_looks_once() {
        eventually(Duration::ZERO, "anything", || async { Ok(()) }).await.unwrap();
    }
}
