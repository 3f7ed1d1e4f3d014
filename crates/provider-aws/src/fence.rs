//! Checks the right to change something directly before each request that does: after the credentials were read and the
//! request was signed, which may take a while. Every client has this interceptor.

use aws_sdk_ec2::config::ConfigBag;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use machinist_domain::permit;

/// How the names of operations begin that change nothing.
const READS: [&str; 3] = ["Describe", "Get", "List"];

#[derive(Debug)]
pub(crate) struct Fence;

impl Intercept for Fence {
    fn name(&self) -> &'static str {
        "Fence"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let name = config.load::<Metadata>().map_or("", Metadata::name);
        if !READS.iter().any(|read| name.starts_with(read)) {
            permit::check()?;
        }
        Ok(())
    }
}
