//! machinist runs the machines of a Kubernetes cluster. What the verbs do is in the library, so that tests can call it.

use std::process::ExitCode;

/// Small and steady under many short-lived allocations, as parsing watches makes them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    machinist::main()
}
