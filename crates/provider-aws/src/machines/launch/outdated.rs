//! A launch is repeated unchanged. If the spec was edited, or its filters match another image or security group, a
//! refusal does not concern the current spec: the attempt ends, and the next one is prepared again.

use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};

use crate::machines::Executor;
use crate::machines::launch::Launch;
use crate::machines::launch::resolve::Resolved;
use crate::messages;

pub(crate) fn or_outdated(error: CloudError, machine: &MachineRef, launch: &Launch) -> CloudError {
    // These pass without a change.
    let passes = matches!(error.class, ErrorClass::Throttled | ErrorClass::Unavailable);
    if error.effect == Effect::None && !passes && launch.is_outdated(machine) {
        return over(error, messages::SPEC_EDITED);
    }
    error
}

fn over(error: CloudError, why: &str) -> CloudError {
    let class = match error.class {
        ErrorClass::InvalidConfiguration => ErrorClass::Unavailable,
        class => class,
    };
    let message = format!("{}; {why}", error.message);
    CloudError { class, effect: Effect::NoneForThisAttempt, message, ..error }
}

impl Executor<'_> {
    pub(crate) async fn or_stale(&self, launch: &Launch, error: CloudError) -> CloudError {
        let config = ProviderConfig::read(&self.machine.spec).ok().filter(has_filters);
        let Some(config) = config.filter(|_| error.effect == Effect::None) else { return error };
        self.machines.resolver.forget();
        match self.resolve(&config).await {
            Ok(now) if is_same(launch, &now) => error,
            Ok(_) => over(error, messages::FILTERS_MATCH_OTHERS),
            Err(unfit) if unfit.class == ErrorClass::InvalidConfiguration => error,
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
