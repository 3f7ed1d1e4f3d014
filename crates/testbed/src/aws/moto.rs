//! moto takes a free port by itself and prints it, so no other process can take the port in between. It checks images,
//! instance types and key pairs, which it does not do by default.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tokio::time::{Instant, sleep};

use super::front::Upstream;
use super::guard::Guarded;
use super::python;

const CHECKS: [(&str, &str); 4] = [
    ("MOTO_ENABLE_AMI_VALIDATION", "true"),
    ("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true"),
    ("MOTO_ENABLE_KEYPAIR_VALIDATION", "true"),
    // Only what is pinned may be imported, not what lies in the user's own folder.
    ("PYTHONNOUSERSITE", "1"),
];

const BARE: &str = include_str!("bare.py");

const ANNOUNCEMENT: &str = "Running on http://127.0.0.1:";
const START_DEADLINE: Duration = Duration::from_mins(2);

/// Ends when dropped, and when our process ends in any way.
#[derive(Debug)]
pub struct Moto {
    process: Guarded,
    upstream: Upstream,
}

impl Moto {
    pub async fn start() -> Result<Self> {
        Self::start_by(["-m", "moto.server"], false).await
    }

    /// Without the images of Amazon it answers several times as fast, and does not slow down with what is in it. Only
    /// fronts and estates may call it, because they remember what it has described.
    pub async fn start_bare() -> Result<Self> {
        Self::start_by(["-c", BARE], true).await
    }

    async fn start_by(program: [&'static str; 2], remembers: bool) -> Result<Self> {
        let mut process = tokio::task::spawn_blocking(move || {
            let interpreter = python::interpreter()?;
            let arguments = [&program[..], &["-H", "127.0.0.1", "-p", "0"]].concat();
            Guarded::start(&interpreter, &arguments, &CHECKS)
        })
        .await??;
        let port = announced_port(&mut process).await?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Self { process, upstream: Upstream::new(address, remembers) })
    }

    pub fn address(&self) -> SocketAddr {
        self.upstream.address()
    }

    pub fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    pub async fn reset(&self) -> Result<()> {
        let answer = self.upstream.post("/moto-api/reset").await?;
        ensure!(answer.status.is_success(), "moto refused to be reset");
        Ok(())
    }

    pub(super) fn upstream(&self) -> Upstream {
        self.upstream.clone()
    }
}

async fn announced_port(process: &mut Guarded) -> Result<u16> {
    let deadline = Instant::now() + START_DEADLINE;
    loop {
        let output = process.output()?;
        if let Some(port) = port_in(&output) {
            return Ok(port);
        }
        if process.has_ended()? {
            bail!("moto ended while starting:\n{}", process.output()?);
        }
        if Instant::now() > deadline {
            bail!("moto did not listen after {START_DEADLINE:?}:\n{output}");
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// None until the line is complete.
fn port_in(output: &str) -> Option<u16> {
    let (_, rest) = output.split_once(ANNOUNCEMENT)?;
    let (port, _) = rest.split_once('\n')?;
    port.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn the_port_is_read_from_a_complete_line_only() {
        let half = "WARNING: This is a development server.\n * Running on http://127.0.0.1:450";
        assert_eq!(port_in(half), None);
        assert_eq!(port_in(&format!("{half}53\nPress CTRL+C")), Some(45053));
    }
}
