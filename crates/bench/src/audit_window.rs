//! Both sides of a ratio are measured here, in the same way: from the arrival of the first write to the answer to the
//! last one, by the clock of the API server.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use machinist_testbed::audit::{AuditEntry, AuditLog};
use tokio::time::Instant;

pub(crate) const MACHINIST: &str = "machinist-";
/// A base, and so much for each write. With compilers beside it a write took 25 ms.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(120), Duration::from_millis(100));
/// Nothing for so long means that it was all.
const QUIET: Duration = Duration::from_secs(2);
/// Looking costs a little of the two cores that are being measured.
const POLL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct AuditWindow {
    log: AuditLog,
    entries: Vec<AuditEntry>,
}

impl AuditWindow {
    /// What is in the log already is not seen.
    pub(crate) fn open(mut log: AuditLog) -> Result<Self> {
        log.skip_to_end()?;
        Ok(Self { log, entries: Vec::new() })
    }

    pub(crate) fn refresh(&mut self) -> Result<()> {
        self.entries.extend(self.log.read_new()?);
        Ok(())
    }

    /// `count` writes to `resource`, and then nothing more of `party` to any resource for a while.
    pub(crate) async fn wait_for_writes(
        &mut self,
        party: &str,
        resource: &str,
        count: usize,
    ) -> Result<Span> {
        let patience = PATIENCE.0 + PATIENCE.1 * u32::try_from(count).unwrap_or(u32::MAX);
        let (deadline, mut last) = (Instant::now() + patience, (Instant::now(), 0));
        loop {
            self.refresh()?;
            let all = self.writes(party).count();
            if all > last.1 {
                last = (Instant::now(), all);
            }
            let wanted = self.writes(party).filter(|entry| entry.resource == resource).count();
            if wanted >= count && last.0.elapsed() >= QUIET {
                return self.span(party);
            }
            ensure!(
                Instant::now() < deadline,
                "{party} wrote to {resource} {wanted} times of {count}, {all} times in all, in {patience:?}"
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Writes that were refused count.
    pub(crate) async fn wait_until_quiet(&mut self, party: &str, limit: Instant) -> Result<Span> {
        let mut last = (Instant::now(), 0);
        loop {
            self.refresh()?;
            let all = self.writes(party).count();
            if all > last.1 {
                last = (Instant::now(), all);
            }
            if all > 0 && last.0.elapsed() >= QUIET {
                return self.extent(party);
            }
            ensure!(Instant::now() < limit, "{party} is not done; it wrote {all} times");
            tokio::time::sleep(POLL).await;
        }
    }

    /// A write that was refused makes the time worthless, and is an error.
    fn span(&self, party: &str) -> Result<Span> {
        if let Some(refused) = self.writes(party).find(|entry| entry.code >= 300) {
            bail!("{} {} was answered {}", refused.verb, refused.request_uri, refused.code);
        }
        self.extent(party)
    }

    fn extent(&self, party: &str) -> Result<Span> {
        let first = self.writes(party).map(|entry| entry.received).min();
        let last = self.writes(party).map(|entry| entry.completed).max();
        match (first, last) {
            (Some(first), Some(last)) => Ok(Span { first, last }),
            _ => bail!("{party} wrote nothing"),
        }
    }

    /// In the order in which it was answered.
    pub(crate) fn entries(&self) -> &[AuditEntry] {
        &self.entries
    }

    pub(crate) fn writes(&self, party: &str) -> impl Iterator<Item = &AuditEntry> {
        self.by(party).filter(|entry| entry.is_write())
    }

    /// A watch is listed when it ends, so one that is still open is not among them.
    pub(crate) fn reads(&self, party: &str) -> impl Iterator<Item = &AuditEntry> {
        self.by(party).filter(|entry| !entry.is_write())
    }

    /// Printed, because a number alone does not help.
    pub(crate) fn print_needless(&self, start: Timestamp, duration: Duration) -> usize {
        let needless: Vec<_> = self.needless(MACHINIST, start, duration).collect();
        for entry in &needless {
            println!("  idle: {} {} {}", entry.user_agent, entry.verb, entry.request_uri);
        }
        needless.len()
    }

    /// Without what a settled cluster may cost: watches that are opened again, and leases that are renewed.
    fn needless(
        &self,
        party: &str,
        start: Timestamp,
        duration: Duration,
    ) -> impl Iterator<Item = &AuditEntry> {
        self.by(party).filter(move |entry| {
            let since = entry.received.duration_since(start);
            let within = Duration::try_from(since).is_ok_and(|since| since < duration);
            within && entry.verb != "watch" && entry.resource != "leases"
        })
    }

    fn by(&self, party: &str) -> impl Iterator<Item = &AuditEntry> {
        self.entries.iter().filter(move |entry| entry.user_agent.starts_with(party))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

impl Span {
    pub(crate) fn seconds(&self) -> f64 {
        self.last.duration_since(self.first).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(party: &str, verb: &str, second: u32, code: u16) -> String {
        format!(
            concat!(
                r#"{{"auditID":"a","stage":"ResponseComplete","requestURI":"/x","verb":"{verb}","#,
                r#""userAgent":"{party}/1","objectRef":{{"resource":"machinesets"}},"#,
                r#""responseStatus":{{"code":{code}}},"#,
                r#""requestReceivedTimestamp":"2026-01-02T03:04:{second:02}.000000Z","#,
                r#""stageTimestamp":"2026-01-02T03:04:{second:02}.500000Z"}}"#,
            ),
            party = party,
            verb = verb,
            second = second,
            code = code,
        )
    }

    fn window(lines: &[String]) -> AuditWindow {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{}", line("ours", "patch", 1, 200)).unwrap();
        let mut window = AuditWindow::open(AuditLog::from_start(file.path())).unwrap();
        writeln!(file, "{}", lines.join("\n")).unwrap();
        window.refresh().unwrap();
        window
    }

    #[test]
    fn time_is_from_the_first_arrival_to_the_last_answer_of_one_party() {
        let window = window(&[
            line("ours", "list", 2, 200),
            line("ours", "patch", 5, 200),
            line("ours", "patch", 4, 200),
            line("theirs", "patch", 9, 200),
        ]);
        let span = window.span("ours").unwrap();
        assert!((span.seconds() - 1.5).abs() < 1e-9, "{span:?}");
        assert_eq!((window.writes("ours").count(), window.reads("ours").count()), (2, 1));
    }

    #[test]
    fn a_refused_write_is_an_error() {
        let window = window(&[line("ours", "patch", 5, 409)]);
        assert!(window.span("ours").unwrap_err().to_string().contains("409"));
    }

    #[test]
    fn idle_requests_are_those_in_the_stretch_that_are_not_watches() {
        let window = window(&[
            line("ours", "get", 9, 200),
            line("ours", "get", 10, 200),
            line("ours", "watch", 11, 200),
            line("ours", "patch", 29, 200),
            line("ours", "get", 30, 200),
        ]);
        let start: Timestamp = "2026-01-02T03:04:10Z".parse().unwrap();
        let needless: Vec<_> = window
            .needless("ours", start, Duration::from_secs(20))
            .map(|entry| entry.verb.as_str())
            .collect();
        assert_eq!(needless, ["get", "patch"]);
    }
}
