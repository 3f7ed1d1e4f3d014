//! Resolves what a spec leaves open: image, security groups, subnet and zone, user data. Read-only, with a short
//! cache.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinist_aws_spec::config::{Filter, ProviderConfig};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Category;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::{Clock, Parts};

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::calls::{Image, Subnet};
use crate::machines::errors::{ErrorContext, classify};
use crate::messages;

const USER_DATA: &str = "userData";

/// Long enough for a set that scales up by hundreds, short enough that an edit is seen soon.
const SHORT: Duration = Duration::from_secs(30);

/// For what hardly ever changes and concerns every machine.
const LONG: Duration = Duration::from_mins(10);

/// How long an answer is kept. A failure is not.
pub(crate) fn keep_answer<T, E>(answer: &Result<T, E>) -> Duration {
    if answer.is_ok() { SHORT } else { Duration::ZERO }
}

/// As [`keep_answer`], but an empty answer is not kept: users who see that nothing matches create or tag something and
/// expect a quick retry.
fn keep_matches<T, E>(answer: &Result<Arc<[T]>, E>) -> Duration {
    if answer.as_ref().is_ok_and(|found| !found.is_empty()) { SHORT } else { Duration::ZERO }
}

type Answers<T> = Lookups<LookupKey, Result<T, AwsError>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) image: String,
    /// Set if a volume of the spec has no name.
    pub(crate) root_device: Option<String>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) subnet: Subnet,
    /// Whether subnets in other zones match.
    pub(crate) elsewhere: bool,
    /// Whether other subnets match.
    pub(crate) other_subnets: bool,
    pub(crate) is_wavelength: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Wanted {
    Id(String),
    Like(String, Vec<Filter>),
}

type LookupKey = (CloudAccess, Wanted);

pub(crate) struct Resolver {
    parts: Parts,
    images: Answers<Arc<[Image]>>,
    groups: Answers<Arc<[String]>>,
    subnets: Answers<Arc<[Subnet]>>,
    zones: Answers<bool>,
    domains: Answers<Arc<[String]>>,
    user_data: Lookups<ObjectKey, Result<Arc<str>, CloudError>>,
    /// `false` is cached as well, because all machines of an account share this lookup.
    visible_groups: Answers<bool>,
    visible_subnets: Answers<bool>,
}

impl Resolver {
    pub(crate) fn new(parts: &Parts) -> Self {
        let clock: &Clock = &parts.clock;
        Self {
            parts: parts.clone(),
            images: Lookups::new(clock, keep_matches),
            groups: Lookups::new(clock, keep_matches),
            subnets: Lookups::new(clock, keep_matches),
            zones: Lookups::new(clock, keep_answer),
            domains: Lookups::new(
                clock,
                |answer| if answer.is_ok() { LONG } else { Duration::ZERO },
            ),
            user_data: Lookups::new(clock, keep_answer),
            visible_groups: Lookups::new(clock, keep_answer),
            visible_subnets: Lookups::new(clock, keep_answer),
        }
    }

    /// Drops the cached values of launches.
    pub(crate) fn forget(&self) {
        self.images.forget_all();
        self.groups.forget_all();
        self.subnets.forget_all();
    }

    pub(crate) async fn resolve(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<Resolved, CloudError> {
        let access = &machine.access;
        if let Some(secret) = config.user_data_secret() {
            self.user_data(machine, secret).await?;
        }
        let (image, root_device) = self.image(ec2, access, config).await?;
        let security_groups = self.security_groups(ec2, access, config).await?;
        let found = self.subnets_of(ec2, machine, config).await?;
        let subnet = choose(&found, machine.attempt)
            .ok_or_else(|| no_match("subnet", "subnet", access, &config.subnet.filters))?;
        let elsewhere = found.iter().any(|other| other.zone != subnet.zone);
        let other_subnets = found.iter().any(|other| other.id != subnet.id);
        // It matters only for public addresses.
        let mut is_wavelength = false;
        if config.public_ip.is_some() {
            let zone = &subnet.zone;
            is_wavelength =
                cached(&self.zones, access, by_id(zone), ec2.is_wavelength(zone)).await?;
        }
        Ok(Resolved {
            image,
            root_device,
            security_groups,
            subnet,
            elsewhere,
            other_subnets,
            is_wavelength,
        })
    }

    /// The image and its root device. A named image is looked up only for its root device: EC2 itself refuses a wrong
    /// one.
    async fn image(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        config: &ProviderConfig,
    ) -> Result<(String, Option<String>), CloudError> {
        let mut volumes = config.block_devices.iter().filter(|device| device.ebs.is_some());
        let needs_root = volumes.any(|device| device.name().is_none());
        let found = match config.ami.id() {
            Some(id) if !needs_root => return Ok((id.to_owned(), None)),
            Some(id) => {
                let lookup = async { ec2.image(id).await.map(Into::into) };
                cached(&self.images, access, by_id(id), lookup).await?
            }
            None => {
                let filters = &config.ami.filters;
                let lookup = async { ec2.images(filters).await.map(Into::into) };
                cached(&self.images, access, by_filters(filters), lookup).await?
            }
        };
        let newest = found.iter().max_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        let newest = newest.ok_or_else(|| no_match("ami", "image", access, &config.ami.filters))?;
        if needs_root && newest.root_device.is_none() {
            return Err(invalid(messages::no_root_device(&newest.id)));
        }
        Ok((newest.id.clone(), newest.root_device.clone().filter(|_| needs_root)))
    }

    /// All named and matching groups. As in OpenShift's provider, filters without a match are ignored if other groups
    /// remain.
    async fn security_groups(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        config: &ProviderConfig,
    ) -> Result<Vec<String>, CloudError> {
        let (mut ids, mut filters) = (Vec::new(), Vec::new());
        for group in &config.security_groups {
            if let Some(id) = group.id() {
                ids.push(id.to_owned());
                continue;
            }
            let filters_of_group = &group.filters;
            let lookup = async { ec2.security_groups(filters_of_group).await.map(Into::into) };
            let key = by_filters(filters_of_group);
            let found = cached(&self.groups, access, key, lookup).await?;
            if found.is_empty() {
                filters.extend_from_slice(&group.filters);
            }
            ids.extend(found.iter().cloned());
        }
        if config.security_groups.is_empty() {
            return Err(invalid(messages::NO_SECURITY_GROUPS));
        }
        if ids.is_empty() {
            return Err(no_match("securityGroups", "security group", access, &filters));
        }
        if !filters.is_empty() {
            let (region, filters) = (&*access.region, messages::filters_text(&filters));
            tracing::warn!(
                region,
                filters,
                "no security group matches these filters; they are ignored"
            );
        }
        // EC2 guarantees neither order nor uniqueness.
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    async fn subnets_of(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<Arc<[Subnet]>, CloudError> {
        let access = &machine.access;
        let (subnet, zone) = (&config.subnet, &config.placement.availability_zone);
        if let Some(id) = subnet.id() {
            let lookup = async { ec2.subnet(id).await.map(Into::into) };
            return cached(&self.subnets, access, by_id(id), lookup).await;
        }
        let key = Wanted::Like(zone.clone(), subnet.filters.clone());
        let lookup = async { ec2.subnets(zone, &subnet.filters).await.map(Into::into) };
        cached(&self.subnets, access, key, lookup).await
    }

    pub(crate) async fn sees_groups(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        filter: Filter,
    ) -> Result<bool, CloudError> {
        let filters = [filter];
        let lookup = async { Ok(!ec2.security_groups(&filters).await?.is_empty()) };
        cached(&self.visible_groups, access, by_filters(&filters), lookup).await
    }

    pub(crate) async fn sees_subnets(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        filter: Filter,
    ) -> Result<bool, CloudError> {
        let filters = [filter];
        let lookup = async { Ok(!ec2.subnets("", &filters).await?.is_empty()) };
        cached(&self.visible_subnets, access, by_filters(&filters), lookup).await
    }

    pub(crate) async fn domains(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        vpc: &str,
    ) -> Result<Arc<[String]>, AwsError> {
        let key = (access.clone(), by_id(vpc));
        self.domains.get(key, async { ec2.domains(vpc).await.map(Into::into) }).await
    }

    pub(crate) async fn user_data(
        &self,
        machine: &MachineRef,
        secret: &str,
    ) -> Result<Arc<str>, CloudError> {
        let key = ObjectKey::new(&*machine.key.namespace, secret);
        let lookup = async {
            let read = self.parts.secrets.read(&key).await;
            let data = read.map_err(|failure| {
                let class = match failure.category {
                    Category::NotFound | Category::InvalidConfiguration => ErrorClass::NotFound,
                    Category::Unauthorised => ErrorClass::Unauthorised,
                    _ => ErrorClass::Unavailable,
                };
                let text = messages::user_data_unreadable(&key.to_string(), &failure.message);
                not_sent(class, text)
            })?;
            let data = data.0.get(USER_DATA).ok_or_else(|| {
                not_sent(
                    ErrorClass::NotFound,
                    messages::user_data_missing(&key.to_string(), USER_DATA),
                )
            })?;
            Ok(STANDARD.encode(data).into())
        };
        self.user_data.get(key.clone(), lookup).await
    }
}

fn by_id(id: &str) -> Wanted {
    Wanted::Id(id.to_owned())
}

fn by_filters(filters: &[Filter]) -> Wanted {
    Wanted::Like(String::new(), filters.to_vec())
}

async fn cached<T: Clone>(
    answers: &Answers<T>,
    access: &CloudAccess,
    wanted: Wanted,
    lookup: impl Future<Output = Result<T, AwsError>>,
) -> Result<T, CloudError> {
    let answer = answers.get((access.clone(), wanted), lookup).await;
    answer.map_err(|error| classify(&error, ErrorContext::of(access)))
}

/// Attempts rotate through the subnets.
fn choose(found: &[Subnet], attempt: u32) -> Option<Subnet> {
    let mut subnets: Vec<_> = found.iter().collect();
    subnets.sort_by(|a, b| a.id.cmp(&b.id));
    let turn = usize::try_from(attempt.saturating_sub(1)).unwrap_or(0);
    subnets.get(turn % subnets.len().max(1)).copied().cloned()
}

fn invalid(message: impl Into<String>) -> CloudError {
    CloudError::new(ErrorClass::InvalidConfiguration, message)
}

fn no_match(field: &str, what: &str, access: &CloudAccess, filters: &[Filter]) -> CloudError {
    invalid(messages::no_match(field, what, access, filters))
}

/// An error before anything was requested from AWS.
fn not_sent(class: ErrorClass, message: String) -> CloudError {
    CloudError { effect: Effect::None, ..CloudError::new(class, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_rotate_through_the_sorted_subnets() {
        let subnet = |id: &str, zone: &str| Subnet { id: id.to_owned(), zone: zone.to_owned() };
        let found = [subnet("b", "2"), subnet("a", "1")];
        for (attempt, id) in [(1, "a"), (2, "b"), (3, "a")] {
            assert_eq!(choose(&found, attempt).unwrap().id, id);
        }
        assert_eq!(choose(&[], 1), None);
    }
}
