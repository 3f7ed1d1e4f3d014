//! The virtual environment of moto. It appears under its name only when it is complete, one process at a time makes
//! it (a lock file that the kernel releases when its holder dies), and it is recreated when the pins change. It is
//! used through `bin/python -m`, because the scripts in `bin` contain the path that they were made under.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const PINS: &str = include_str!("../../../../tools/moto/requirements.txt");
const PINS_COPY: &str = "requirements.txt";

const HOW_TO_GET_PYTHON: &str = "moto needs Python 3.11 or newer with its venv and pip modules: \
     `apt install python3 python3-venv python3-pip` (Debian, Ubuntu), `dnf install python3 python3-pip` \
     (Fedora), `brew install python` (macOS), or https://www.python.org/downloads/";

/// Blocks.
pub(super) fn interpreter() -> Result<PathBuf> {
    let version = PINS
        .lines()
        .find_map(|line| line.strip_prefix("moto=="))
        .context("tools/moto/requirements.txt does not pin moto")?;
    environment_in(&cache_folder()?, &format!("moto-{version}"), "python3")
}

fn environment_in(cache: &Path, name: &str, python: &str) -> Result<PathBuf> {
    fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let lock = File::create(cache.join(format!("{name}.lock")))?;
    lock.lock().context("cannot lock the cache folder")?;

    let home = cache.join(name);
    let interpreter = home.join("bin/python");
    let installed = fs::read_to_string(home.join(PINS_COPY));
    let is_current = installed.is_ok_and(|installed| pins(&installed).eq(pins(PINS)));
    // The interpreter is a link to the system's: it dangles after an upgrade of Python.
    if is_current && interpreter.exists() {
        return Ok(interpreter);
    }
    let unfinished = cache.join(format!("{name}.unfinished"));
    remove(&unfinished)?;
    install(python, &unfinished)?;
    remove(&home)?;
    fs::rename(&unfinished, &home)?;
    Ok(interpreter)
}

/// Without comments, so that another wording does not install everything again.
fn pins(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

fn install(python: &str, home: &Path) -> Result<()> {
    tracing::info!(home = %home.display(), "installing moto, once");
    run(Command::new(python).args(["-m", "venv"]).arg(home))?;
    let pins = home.join(PINS_COPY);
    fs::write(&pins, PINS)?;
    let interpreter = home.join("bin/python");
    run(Command::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"])
        .arg(&pins))?;
    // With `--no-deps` nothing unpinned can come in; this finds what another Python would lack.
    run(Command::new(&interpreter).args(["-m", "pip", "check"]))
}

fn run(command: &mut Command) -> Result<()> {
    let line = format!("{command:?}");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{line}: no such program. {HOW_TO_GET_PYTHON}")
        }
        Err(error) => return Err(error).context(line),
    };
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        bail!("{line} failed:\n{}\n{HOW_TO_GET_PYTHON}", text.trim());
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn cache_folder() -> Result<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(cache) = folder("MACHINIST_CACHE") {
        return Ok(cache.into());
    }
    if let Some(cache) = folder("XDG_CACHE_HOME") {
        return Ok(Path::new(&cache).join("machinist"));
    }
    let home = folder("HOME").context("set HOME or MACHINIST_CACHE: moto is kept there")?;
    Ok(Path::new(&home).join(".cache/machinist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_python_says_how_to_get_it() {
        let cache = tempfile::tempdir().unwrap();
        let error = environment_in(cache.path(), "moto", "python3-is-not-here").unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("python3-is-not-here"), "{text}");
        assert!(text.contains("apt install python3 python3-venv"), "{text}");
        assert!(!cache.path().join("moto").exists());
    }

    #[test]
    fn a_failing_installation_is_shown_and_leaves_nothing_behind() {
        let cache = tempfile::tempdir().unwrap();
        let error = environment_in(cache.path(), "moto", "false").unwrap_err();
        assert!(format!("{error:#}").contains("failed"), "{error:#}");
        assert!(!cache.path().join("moto").exists());
    }

    #[test]
    fn every_line_of_the_pins_is_an_exact_version() {
        let unpinned: Vec<_> = pins(PINS).filter(|line| !line.contains("==")).collect();
        assert_eq!(unpinned, Vec::<&str>::new());
    }
}
