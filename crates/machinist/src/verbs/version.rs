//! `machinist version`

use std::io::Write;

/// Prints the version.
pub fn main() -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "machinist {}", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
