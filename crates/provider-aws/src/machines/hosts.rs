//! Dedicated hosts: given ones, and those that are allocated for one machine and released with it.
//!
//! A host is allocated with a token of its own, so a repeat returns the same host. One whose response was lost is
//! found by its tags. OpenShift's credentials cannot list hosts; then deletion repeats the last requests: EC2 returns
//! the host of a token, or allocates one that is released at once.

use std::time::Duration;

use machinist_aws_spec::config::{HostPlacement, ProviderConfig};
use machinist_domain::retry::{Category, Classified};
use machinist_provider::cloud::{CloudError, Deletion, Effect, ErrorClass, MachineRef};

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Executor;
use crate::machines::errors::{is_missing, is_spent_token};
use crate::machines::launch::{HostRequest, Launch, known_host};
use crate::machines::tags::cluster_tag;
use crate::messages::{self, REPEATING_HOST_REQUESTS};

impl Executor<'_> {
    pub(crate) async fn host(&self, launch: &Launch) -> Result<Option<String>, CloudError> {
        let ec2 = self.ec2;
        self.release_earlier_hosts(launch).await.map_err(delays_attempt)?;
        let place = &launch.placement;
        if let Some(host) = &place.host {
            let tags = [(cluster_tag(&self.machine.cluster), "shared".to_owned())].into();
            // Informational: the host may belong to another account.
            if let Err(error) = ec2.tag(host, &tags).await {
                tracing::debug!(%error, host, "cannot tag the dedicated host");
            }
            return Ok(Some(host.clone()));
        }
        let Some(request) = &place.own_host else { return Ok(None) };
        let allocated = ec2.allocate_host(request).await;
        allocated.map(Some).map_err(|error| ec2.classify_launch(&error, launch))
    }

    /// A token returns its host even after the release. A new host may not be known everywhere or usable yet, so only
    /// a host that is seen as released counts.
    pub(crate) async fn is_host_gone(&self, launch: &Launch, host: Option<&str>) -> bool {
        let own = host.filter(|_| launch.placement.own_host.is_some());
        let Some(host) = own else { return false };
        let asked = (self.machines.parts.clock)();
        match self.is_gone(host).await {
            Err(error) if error.category() == Category::Unauthorised => {
                self.has_vanished(host, asked)
            }
            gone => gone.unwrap_or(false),
        }
    }

    /// An unknown host counts as gone once it has been unknown for a while.
    async fn is_gone(&self, host: &str) -> Result<bool, AwsError> {
        let asked = (self.machines.parts.clock)();
        match self.ec2.host_state(host).await {
            Ok(Some(state)) => Ok(state.starts_with("released")),
            Ok(None) => Ok(self.has_vanished(host, asked)),
            Err(error) if is_missing(&error) => Ok(self.has_vanished(host, asked)),
            Err(error) => Err(error),
        }
    }

    /// The attempt ends only when its host is released: it may not be found afterwards.
    pub(crate) async fn give_up_host(
        &self,
        launch: &Launch,
        host: Option<String>,
        refusal: CloudError,
    ) -> CloudError {
        let hopeless = refusal.effect == Effect::NoneForThisAttempt
            || (refusal.class == ErrorClass::InvalidConfiguration
                && refusal.effect == Effect::None);
        let own = host.filter(|_| launch.placement.own_host.is_some() && hopeless);
        let Some(host) = own else { return refusal };
        match self.released(&[host]).await {
            Ok(()) => CloudError { effect: Effect::NoneForThisAttempt, ..refusal },
            Err(waiting) => {
                let message = format!("{}; {}", refusal.message, waiting.message);
                delays_attempt(CloudError { message, ..waiting })
            }
        }
    }

    /// Releases the hosts of earlier attempts and of another controller. EC2 releases no host that has an instance.
    async fn release_earlier_hosts(&self, launch: &Launch) -> Result<(), CloudError> {
        let Self { ec2, machine, .. } = self;
        let mut hosts = known_hosts(machine, &launch.former_hosts);
        if let Some(now) = launch.placement.own_host.as_ref().filter(|_| launch.attempt > 1) {
            match ec2.hosts_of(&machine.uid.0).await {
                Ok(mut found) => {
                    found.retain(|host| host.token.as_ref() != Some(&now.token));
                    hosts.extend(found.into_iter().map(|host| host.id));
                }
                // The last requests are kept for the deletion.
                Err(error) if error.category() == Category::Unauthorised => {}
                Err(error) => return Err(ec2.classify(&error)),
            }
        }
        self.released(&hosts).await
    }

    async fn released(&self, hosts: &[String]) -> Result<(), CloudError> {
        match self.release_all(hosts).await? {
            Deletion::Gone => Ok(()),
            Deletion::UnderWay(why) => Err(CloudError::new(ErrorClass::Unavailable, why)),
        }
    }

    pub(crate) async fn release_hosts(&self) -> Result<Deletion, CloudError> {
        let Self { machines, ec2, machine } = self;
        let launch = Launch::stored(&machine.status);
        // Of an unknown format, only listed hosts are found.
        let is_unread = launch.is_none() && mentions_hosts(machine);
        let launch = launch.unwrap_or_default();
        let present = known_host(machine).map(str::to_owned);
        let known = known_hosts(machine, present.iter().chain(&launch.former_hosts));
        let released = self.release_all(&known).await?;
        if released != Deletion::Gone {
            return Ok(released);
        }
        if launch.placement.own_host.is_none() && launch.earlier_hosts.is_empty() && !is_unread {
            return Ok(Deletion::Gone);
        }
        let mut hosts: Vec<_> = match ec2.hosts_of(&machine.uid.0).await {
            Ok(hosts) => hosts.into_iter().map(|host| host.id).collect(),
            Err(error) if error.category() == Category::Unauthorised && !is_unread => {
                let requests = unconfirmed_requests(machine, &launch);
                let denied =
                    machines.host_lookup_denied.missed(&machine.uid, (machines.parts.clock)());
                // Announced before, because it may cost money.
                if denied.is_zero() && !requests.is_empty() {
                    tracing::warn!(%error, machine = %machine.key, "{REPEATING_HOST_REQUESTS}");
                    let text = format!("{REPEATING_HOST_REQUESTS} ({error})");
                    return Ok(Deletion::UnderWay(text));
                }
                let mut hosts = Vec::new();
                for request in requests {
                    hosts.extend(reallocate(ec2, request).await?);
                }
                hosts
            }
            Err(error) => return Err(ec2.classify(&error)),
        };
        hosts.retain(|host| !known.contains(host));
        self.release_all(&hosts).await
    }

    /// Releases all hosts, even if one of them fails.
    async fn release_all(&self, hosts: &[String]) -> Result<Deletion, CloudError> {
        let mut all = Ok(Deletion::Gone);
        for host in hosts {
            let one = self.release(host).await;
            if all == Ok(Deletion::Gone) {
                all = one;
            }
        }
        all
    }

    async fn release(&self, host: &str) -> Result<Deletion, CloudError> {
        let asked = (self.machines.parts.clock)();
        let (is_unknown, why) = match self.ec2.release_host(host).await {
            Ok(None) => return Ok(Deletion::Gone),
            Ok(Some((code, message))) => (code.contains("NotFound"), format!("{code}: {message}")),
            Err(error) if is_missing(&error) => (true, error.to_string()),
            Err(error) => {
                // A permission that depends on tags is denied for a host that has lost them.
                let may_be_gone =
                    matches!(error.category(), Category::Unexpected | Category::Unauthorised);
                if may_be_gone && self.is_gone(host).await.unwrap_or(false) {
                    return Ok(Deletion::Gone);
                }
                return Err(self.ec2.classify(&error));
            }
        };
        if is_unknown && self.has_vanished(host, asked) || self.is_gone(host).await.unwrap_or(false)
        {
            return Ok(Deletion::Gone);
        }
        Ok(Deletion::UnderWay(messages::host_not_released(host, &why)))
    }

    fn has_vanished(&self, host: &str, asked: Duration) -> bool {
        let missed = self.machines.unknown_hosts.missed(&host.to_owned(), asked);
        missed >= self.machines.parts.timings.consistency
    }
}

/// The error of a release says nothing about the launch.
fn delays_attempt(error: CloudError) -> CloudError {
    let class = match error.class {
        ErrorClass::Throttled => ErrorClass::Throttled,
        _ => ErrorClass::Unavailable,
    };
    CloudError { class, effect: Effect::None, ..error }
}

/// The hosts that belong to the machine. A host that its spec names does not.
fn known_hosts<'a>(
    machine: &MachineRef,
    hosts: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let spec = ProviderConfig::read(&machine.spec).ok();
    let placement = spec.as_ref().and_then(|spec| spec.placement.host.as_ref());
    let provided = placement.and_then(HostPlacement::provided);
    hosts.into_iter().filter(|host| provided != Some(host)).cloned().collect()
}

fn mentions_hosts(machine: &MachineRef) -> bool {
    let launch = machine.status.0.get("launch").map(ToString::to_string);
    launch.is_some_and(|launch| launch.to_ascii_lowercase().contains("host"))
}

fn unconfirmed_requests<'a>(machine: &MachineRef, launch: &'a Launch) -> Vec<&'a HostRequest> {
    let own = launch.placement.own_host.iter().filter(|_| known_host(machine).is_none());
    own.chain(&launch.earlier_hosts).collect()
}

/// The host of a request that is repeated; `None` if EC2 never allocated it.
async fn reallocate(ec2: &Ec2, request: &HostRequest) -> Result<Option<String>, CloudError> {
    match ec2.allocate_host(request).await {
        Ok(host) => Ok(Some(host)),
        Err(error) if is_spent_token(&error) || is_missing(&error) => Ok(None),
        // The limit does not say whether this host exists.
        Err(error) if error.has_code("HostLimitExceeded") => {
            let error = ec2.classify(&error);
            let message = messages::hosts_unknown(&error.message);
            Err(CloudError { message, ..error })
        }
        Err(error) => {
            let error = ec2.classify(&error);
            let never_made = matches!(
                error.class,
                ErrorClass::InvalidConfiguration | ErrorClass::CapacityExhausted
            );
            if never_made { Ok(None) } else { Err(error) }
        }
    }
}
