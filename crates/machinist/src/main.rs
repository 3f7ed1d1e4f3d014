//! The binary. Everything is in the library, so that tests can call it.

use std::process::ExitCode;

/// Keeps memory low with the many short-lived allocations of watch parsing.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    machinist::main()
}
