use std::io::Write;

pub(crate) fn main() -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "machinist {}", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
