//! moto behind the front until it is interrupted: to try things by hand, and for the test that kills its owner.

use std::io::Write;

use machinist_testbed::aws::AwsBed;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let bed = AwsBed::start().await?;
    let mut out = std::io::stdout();
    writeln!(out, "AWS_ENDPOINT_URL={}", bed.endpoint_url())?;
    writeln!(out, "MOTO_PROCESS_ID={}", bed.moto().process_id())?;
    out.flush()?;
    tokio::signal::ctrl_c().await?;
    Ok(())
}
