//! Whether a launch that was refused still is what its machine asks for.
//!
//! A launch is stored to the last value and repeated as it is. Meanwhile the spec may be edited, an image that a filter chose may be replaced, a
//! security group made anew. A refusal of such a launch says nothing against today's spec: the attempt is over, and the next one is prepared from what
//! holds then. An earlier request of this attempt may have been carried out all the same, so the machine is looked for first, as after every
//! attempt that is over.

use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};

use super::Ec2Machines;
use super::launch::Launch;
use super::resolve::Resolved;
use crate::ec2::Ec2;

/// What a refusal means if the spec was edited since.
pub(super) fn or_outdated(error: CloudError, machine: &MachineRef, launch: &Launch) -> CloudError {
    // What passes by itself is asked for again as it is.
    let passes = matches!(error.class, ErrorClass::Throttled | ErrorClass::Unavailable);
    if error.effect == Effect::None && !passes && launch.is_outdated(machine) {
        return over(error, "the spec was edited since");
    }
    error
}

/// The same refusal, of an attempt that is over. It is no mistake of today's spec.
fn over(error: CloudError, why: &str) -> CloudError {
    let class = match error.class {
        ErrorClass::InvalidConfiguration => ErrorClass::Unavailable,
        class => class,
    };
    let message = format!("{}; {why}, so it is asked for anew", error.message);
    CloudError { class, effect: Effect::NoneForThisAttempt, message, ..error }
}

impl Ec2Machines {
    /// What the refusal of a stored value means if filters of the spec find another one by now.
    pub(super) async fn or_stale(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
        error: CloudError,
    ) -> CloudError {
        let config = ProviderConfig::read(&machine.spec).ok().filter(has_filters);
        let Some(config) = config.filter(|_| error.effect == Effect::None) else { return error };
        // What is remembered may be what is stale.
        self.resolver.forget();
        match self.resolver.resolve(ec2, machine, &config).await {
            Ok(now) if is_same(launch, &now) => error,
            Ok(_) => over(error, "the filters of the spec find something else by now"),
            // Nothing fits any more.
            Err(unfit) if unfit.class == ErrorClass::InvalidConfiguration => error,
            // Nobody knows yet.
            Err(asking) => CloudError { effect: Effect::None, ..asking },
        }
    }
}

fn has_filters(config: &ProviderConfig) -> bool {
    let groups = &config.security_groups;
    config.ami.id().is_none()
        || config.subnet.id().is_none()
        || groups.iter().any(|group| group.id().is_none())
}

fn is_same(launch: &Launch, now: &Resolved) -> bool {
    launch.image == now.image
        && launch.subnet == now.subnet.id
        && launch.security_groups == now.security_groups
}
