//! machinist for machines on the example's hypervisor: the same command line, the same controllers, another cloud.

use std::process::ExitCode;
use std::sync::Arc;

use machine_api_provider_example::ExampleProvider;

fn main() -> ExitCode {
    machinist::Machinist::builder().provider(Arc::new(ExampleProvider::default())).run()
}
