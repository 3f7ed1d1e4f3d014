//! Dedicated hosts: those that somebody provides, and those that are made for one machine and go with it.
//!
//! A host is asked for with a token of its own, so a repeat finds the same host. One whose answer was lost is found by its tags: what earlier
//! attempts left is released before another one is made, and everything when the machine goes. An attempt whose launch was refused is over only
//! when its host is gone.
//!
//! What OpenShift grants does not include looking at hosts. Without that right the last tokens are used once more when the machine goes: whoever
//! made a host is told which, and for a token that made none a host is made and released at once. The machine says so before.

use std::time::Duration;

use machinist_aws_spec::config::{HostPlacement, ProviderConfig};
use machinist_domain::retry::{Category, Classified};
use machinist_provider::cloud::{CloudError, Deletion, Effect, ErrorClass, MachineRef};

use super::Ec2Machines;
use super::calls::Release;
use super::create::at;
use super::errors::{At, is_missing, is_spent_token, judge};
use super::launch::{HostRequest, Launch, known_host};
use super::tags::cluster_tag;
use crate::ec2::Ec2;
use crate::errors::AwsError;

const TOKENS_ARE_USED_AGAIN: &str = "dedicated hosts may not be looked for without the right to ec2:DescribeHosts, so the last requests for one are \
     made once more; a host that comes of it is released at once";

impl Ec2Machines {
    /// The host for a launch, made if need be.
    pub(super) async fn host(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
    ) -> Result<Option<String>, CloudError> {
        self.release_earlier_hosts(ec2, machine, launch).await.map_err(held_up)?;
        let place = &launch.placement;
        if let Some(host) = &place.host {
            let tags = [(cluster_tag(&machine.cluster), "shared".to_owned())].into();
            // For people alone: the host may be another account's.
            if let Err(error) = ec2.tag(host, &tags).await {
                tracing::debug!(%error, host, "the dedicated host could not be tagged");
            }
            return Ok(Some(host.clone()));
        }
        let Some(request) = &place.own_host else { return Ok(None) };
        let allocated = ec2.allocate_host(request).await;
        allocated.map(Some).map_err(|error| judge(&error, at(machine, launch)))
    }

    /// Whether the host of a launch that was refused because of it is gone. A token names its host also when that was released: the attempt was refused, and
    /// whoever knew that it was over was started anew.
    ///
    /// A new host is not known everywhere at once, and may take nobody yet: without one that is seen to be released this is waited for.
    pub(super) async fn is_host_gone(
        &self,
        ec2: &Ec2,
        launch: &Launch,
        host: Option<&str>,
    ) -> bool {
        let own = host.filter(|_| launch.placement.own_host.is_some());
        let Some(host) = own else { return false };
        let asked = (self.parts.clock)();
        match self.is_gone(ec2, host).await {
            Err(error) if error.category() == Category::Unauthorised => {
                self.has_vanished(host, asked)
            }
            gone => gone.unwrap_or(false),
        }
    }

    /// Whether a host is seen to be gone. One that EC2 does not know is, if it has not been known for a while.
    async fn is_gone(&self, ec2: &Ec2, host: &str) -> Result<bool, AwsError> {
        let asked = (self.parts.clock)();
        match ec2.host_state(host).await {
            Ok(Some(state)) => Ok(state.starts_with("released")),
            Ok(None) => Ok(self.has_vanished(host, asked)),
            Err(error) if is_missing(&error) => Ok(self.has_vanished(host, asked)),
            Err(error) => Err(error),
        }
    }

    /// Releases the host of a launch that was refused for good. A repeat would find the token's host gone, so this attempt is over, too; but not before the
    /// host is gone, because nobody may be able to find it afterwards.
    pub(super) async fn give_up_host(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
        host: Option<String>,
        refusal: CloudError,
    ) -> CloudError {
        let hopeless = refusal.effect == Effect::NoneForThisAttempt
            || (refusal.class == ErrorClass::InvalidConfiguration
                && refusal.effect == Effect::None);
        let own = host.filter(|_| launch.placement.own_host.is_some() && hopeless);
        let Some(host) = own else { return refusal };
        match self.released(ec2, machine, &[host]).await {
            Ok(()) => CloudError { effect: Effect::NoneForThisAttempt, ..refusal },
            Err(waiting) => {
                let message = format!("{}; {}", refusal.message, waiting.message);
                held_up(CloudError { message, ..waiting })
            }
        }
    }

    /// Releases what earlier attempts and another controller left, so that hosts do not pile up. EC2 releases none that has an instance.
    async fn release_earlier_hosts(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
    ) -> Result<(), CloudError> {
        let mut hosts = known_hosts(machine, &launch.former_hosts);
        if let Some(now) = launch.placement.own_host.as_ref().filter(|_| launch.attempt > 1) {
            match ec2.hosts_of(&machine.uid.0).await {
                Ok(mut found) => {
                    found.retain(|host| host.token.as_ref() != Some(&now.token));
                    hosts.extend(found.into_iter().map(|host| host.id));
                }
                // Nothing to be done: the last requests are kept for the deletion.
                Err(error) if error.category() == Category::Unauthorised => {}
                Err(error) => return Err(judge(&error, At::realm(&machine.realm))),
            }
        }
        self.released(ec2, machine, &hosts).await
    }

    /// Releases hosts that have to go before anything else happens; an error unless they are gone.
    async fn released(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        hosts: &[String],
    ) -> Result<(), CloudError> {
        match self.release_all(ec2, machine, hosts).await? {
            Deletion::Gone => Ok(()),
            Deletion::UnderWay(why) => Err(CloudError::new(ErrorClass::Unavailable, why)),
        }
    }

    /// Releases every host that was made for a machine. Its instances are gone.
    pub(super) async fn release_hosts(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<Deletion, CloudError> {
        let launch = Launch::stored(&machine.status);
        // Of what another version stored, only hosts that are shown can be known.
        let is_unread = launch.is_none() && speaks_of_hosts(machine);
        let launch = launch.unwrap_or_default();
        let present = known_host(machine).map(str::to_owned);
        let known = known_hosts(machine, present.iter().chain(&launch.former_hosts));
        let released = self.release_all(ec2, machine, &known).await?;
        if released != Deletion::Gone {
            return Ok(released);
        }
        if launch.placement.own_host.is_none() && launch.earlier_hosts.is_empty() && !is_unread {
            return Ok(Deletion::Gone);
        }
        let mut hosts: Vec<_> = match ec2.hosts_of(&machine.uid.0).await {
            Ok(hosts) => hosts.into_iter().map(|host| host.id).collect(),
            Err(error) if error.category() == Category::Unauthorised && !is_unread => {
                let requests = unheard(machine, &launch);
                let is_news = self.blind.missed(&machine.uid, (self.parts.clock)()).is_zero();
                // Told before it is done, because it may cost something.
                if is_news && !requests.is_empty() {
                    tracing::warn!(%error, machine = %machine.key, "{TOKENS_ARE_USED_AGAIN}");
                    return Ok(Deletion::UnderWay(format!("{TOKENS_ARE_USED_AGAIN} ({error})")));
                }
                self.recall_all(ec2, machine, &requests).await?
            }
            Err(error) => return Err(judge(&error, At::realm(&machine.realm))),
        };
        hosts.retain(|host| !known.contains(host));
        self.release_all(ec2, machine, &hosts).await
    }

    /// The hosts that these requests made, for those who may not look for them.
    async fn recall_all(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        requests: &[&HostRequest],
    ) -> Result<Vec<String>, CloudError> {
        let mut hosts = Vec::new();
        for request in requests {
            hosts.extend(self.recall(ec2, machine, request).await?);
        }
        Ok(hosts)
    }

    /// The host that a token made; `None` if EC2 says that it made none.
    async fn recall(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        request: &HostRequest,
    ) -> Result<Option<String>, CloudError> {
        match ec2.allocate_host(request).await {
            Ok(host) => Ok(Some(host)),
            // Its host is gone.
            Err(error) if is_spent_token(&error) || is_missing(&error) => Ok(None),
            // That there may be no more says nothing about those that there are.
            Err(error) if is_host_limit(&error) => {
                let error = judge(&error, At::realm(&machine.realm));
                let message = format!(
                    "whether there is a dedicated host cannot be found out without the right to ec2:DescribeHosts: {}",
                    error.message
                );
                Err(CloudError { message, ..error })
            }
            Err(error) => {
                let error = judge(&error, At::realm(&machine.realm));
                let never_made = matches!(
                    error.class,
                    ErrorClass::InvalidConfiguration | ErrorClass::CapacityExhausted
                );
                if never_made { Ok(None) } else { Err(error) }
            }
        }
    }

    /// Releases hosts, each of them also where another one has to wait.
    async fn release_all(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        hosts: &[String],
    ) -> Result<Deletion, CloudError> {
        let mut all = Ok(Deletion::Gone);
        for host in hosts {
            let one = self.release(ec2, machine, host).await;
            if all == Ok(Deletion::Gone) {
                all = one;
            }
        }
        all
    }

    /// Releases a host. One that EC2 does not know is gone only if it has not been known for a while: it may have been made a moment ago.
    async fn release(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        host: &str,
    ) -> Result<Deletion, CloudError> {
        let asked = (self.parts.clock)();
        let (is_unknown, why) = match ec2.release_host(host).await {
            Ok(Release::Released) => return Ok(Deletion::Gone),
            Ok(Release::Refused { code, message }) => {
                (code.contains("NotFound"), format!("{code}: {message}"))
            }
            Err(error) if is_missing(&error) => (true, error.to_string()),
            Err(error) => {
                // Rights that go by tags are not given for a host that has none any more.
                let may_be_gone =
                    matches!(error.category(), Category::Unexpected | Category::Unauthorised);
                if may_be_gone && self.is_gone(ec2, host).await.unwrap_or(false) {
                    return Ok(Deletion::Gone);
                }
                return Err(judge(&error, At::realm(&machine.realm)));
            }
        };
        if is_unknown && self.has_vanished(host, asked)
            || self.is_gone(ec2, host).await.unwrap_or(false)
        {
            return Ok(Deletion::Gone);
        }
        Ok(Deletion::UnderWay(format!("dedicated host {host} is not released yet: {why}")))
    }

    /// Whether a host that EC2 does not know will not appear any more. `asked`: the uptime when EC2 was asked.
    fn has_vanished(&self, host: &str, asked: Duration) -> bool {
        let missed = self.unknown_hosts.missed(&host.to_owned(), asked);
        missed >= self.parts.timings.consistency
    }
}

/// A host that does not go holds up the attempt, and no more than that: whatever the reason is, it is no word about what was asked for.
fn held_up(error: CloudError) -> CloudError {
    let class = match error.class {
        ErrorClass::Throttled => ErrorClass::Throttled,
        _ => ErrorClass::Unavailable,
    };
    CloudError { class, effect: Effect::None, ..error }
}

/// Of these hosts those that are the machine's own to release. One that its spec names is somebody's, whatever is stored.
fn known_hosts<'a>(
    machine: &MachineRef,
    hosts: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let spec = ProviderConfig::read(&machine.spec).ok();
    let placement = spec.as_ref().and_then(|spec| spec.placement.host.as_ref());
    let provided = placement.and_then(HostPlacement::provided);
    hosts.into_iter().filter(|host| provided != Some(host)).cloned().collect()
}

/// Whether what is stored for a launch has to do with hosts, whichever version wrote it.
fn speaks_of_hosts(machine: &MachineRef) -> bool {
    let launch = machine.status.0.get("launch").map(ToString::to_string);
    launch.is_some_and(|launch| launch.to_ascii_lowercase().contains("host"))
}

/// The requests for hosts of which nobody knows what they made.
fn unheard<'a>(machine: &MachineRef, launch: &'a Launch) -> Vec<&'a HostRequest> {
    let own = launch.placement.own_host.iter().filter(|_| known_host(machine).is_none());
    own.chain(&launch.earlier_hosts).collect()
}

fn is_host_limit(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code == "HostLimitExceeded")
}
