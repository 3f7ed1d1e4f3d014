//! Resolves what a spec leaves open: image, security groups, subnet and zone, user data.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinist_aws_spec::config::{Filter, ProviderConfig, ResourceReference};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Category;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::Clock;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Executor;
use crate::machines::calls::{Image, Subnet};
use crate::machines::errors::no_effect;
use crate::messages;

const USER_DATA: &str = "userData";

/// Long enough for a set that scales up by hundreds, short enough that an edit is seen soon.
const SHORT: Duration = Duration::from_secs(30);

/// For what hardly ever changes and concerns every machine.
const LONG: Duration = Duration::from_mins(10);

pub(crate) fn keep_answer<T, E>(answer: &Result<T, E>) -> Duration {
    if answer.is_ok() { SHORT } else { Duration::ZERO }
}

/// Users who see that nothing matches create or tag something and expect a quick retry.
fn keep_matches<T, E>(answer: &Result<Arc<[T]>, E>) -> Duration {
    if answer.as_ref().is_ok_and(|found| !found.is_empty()) { SHORT } else { Duration::ZERO }
}

type Answers<K, T> = Lookups<(CloudAccess, K), Result<T, AwsError>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) image: String,
    pub(crate) root_device: Option<String>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) subnet: Subnet,
    pub(crate) elsewhere: bool,
    pub(crate) other_subnets: bool,
    pub(crate) is_wavelength: bool,
}

pub(crate) struct Resolver {
    images: Answers<ResourceReference, Arc<[Image]>>,
    groups: Answers<Vec<Filter>, Arc<[String]>>,
    subnets: Answers<ResourceReference, Arc<[Subnet]>>,
    zones: Answers<String, bool>,
    domains: Answers<String, Arc<[String]>>,
    user_data: Lookups<ObjectKey, Result<Arc<str>, CloudError>>,
    /// `false` is cached as well, because all machines of an account share this lookup.
    visible_groups: Answers<Vec<Filter>, bool>,
    visible_subnets: Answers<Vec<Filter>, bool>,
}

async fn cached<K: Eq + Hash, T: Clone>(
    answers: &Answers<K, T>,
    ec2: &Ec2,
    key: K,
    lookup: impl Future<Output = Result<T, AwsError>>,
) -> Result<T, CloudError> {
    let answer = answers.get((ec2.access.clone(), key), lookup).await;
    answer.map_err(|error| ec2.classify(&error))
}

impl Resolver {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
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

    pub(crate) fn forget(&self) {
        self.images.forget_all();
        self.groups.forget_all();
        self.subnets.forget_all();
    }

    pub(crate) async fn domains(&self, ec2: &Ec2, vpc: &str) -> Result<Arc<[String]>, AwsError> {
        let key = (ec2.access.clone(), vpc.to_owned());
        self.domains.get(key, async { ec2.domains(vpc).await.map(Into::into) }).await
    }
}

impl Executor<'_> {
    pub(crate) async fn resolve(&self, config: &ProviderConfig) -> Result<Resolved, CloudError> {
        let (ec2, resolver) = (self.ec2, &self.machines.resolver);
        if let Some(secret) = config.user_data_secret() {
            self.user_data(secret).await?;
        }
        let (image, root_device) = self.image(config).await?;
        let security_groups = self.security_groups(config).await?;
        let mut wanted = config.subnet.clone();
        let zone = &config.placement.availability_zone;
        if wanted.id().is_none() && !zone.is_empty() {
            wanted.filters.push(among("availability-zone", vec![zone.clone()]));
        }
        let lookup = async { ec2.subnets(&wanted).await.map(Into::into) };
        let found: Arc<[Subnet]> = cached(&resolver.subnets, ec2, wanted.clone(), lookup).await?;
        let subnet = choose(&found, self.machine.attempt)
            .ok_or_else(|| no_match("subnet", "subnet", ec2, &config.subnet.filters))?;
        let mut is_wavelength = false;
        if config.public_ip.is_some() {
            let (zone, lookup) = (subnet.zone.clone(), ec2.is_wavelength(&subnet.zone));
            is_wavelength = cached(&resolver.zones, ec2, zone, lookup).await?;
        }
        Ok(Resolved {
            image,
            root_device,
            security_groups,
            elsewhere: found.iter().any(|other| other.zone != subnet.zone),
            other_subnets: found.iter().any(|other| other.id != subnet.id),
            subnet,
            is_wavelength,
        })
    }

    /// A named image is looked up only for its root device: EC2 itself refuses a wrong one.
    async fn image(&self, config: &ProviderConfig) -> Result<(String, Option<String>), CloudError> {
        let ec2 = self.ec2;
        let mut volumes = config.block_devices.iter().filter(|device| device.ebs.is_some());
        let needs_root = volumes.any(|device| device.name().is_none());
        if let Some(id) = config.ami.id().filter(|_| !needs_root) {
            return Ok((id.to_owned(), None));
        }
        let lookup = async { ec2.images(&config.ami).await.map(Into::into) };
        let found = cached(&self.machines.resolver.images, ec2, config.ami.clone(), lookup).await?;
        let newest = found.iter().max_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        let newest = newest.ok_or_else(|| no_match("ami", "image", ec2, &config.ami.filters))?;
        if needs_root && newest.root_device.is_none() {
            return Err(invalid(messages::no_root_device(&newest.id)));
        }
        Ok((newest.id.clone(), newest.root_device.clone().filter(|_| needs_root)))
    }

    /// As in OpenShift's provider, filters without a match are ignored if other groups remain.
    async fn security_groups(&self, config: &ProviderConfig) -> Result<Vec<String>, CloudError> {
        let (ec2, groups) = (self.ec2, &self.machines.resolver.groups);
        let (mut ids, mut unmatched) = (Vec::new(), Vec::new());
        for group in &config.security_groups {
            if let Some(id) = group.id() {
                ids.push(id.to_owned());
                continue;
            }
            let lookup = async { ec2.security_groups(&group.filters).await.map(Into::into) };
            let found = cached(groups, ec2, group.filters.clone(), lookup).await?;
            if found.is_empty() {
                unmatched.extend_from_slice(&group.filters);
            }
            ids.extend(found.iter().cloned());
        }
        if config.security_groups.is_empty() {
            return Err(invalid(messages::NO_SECURITY_GROUPS));
        }
        if ids.is_empty() {
            return Err(no_match("securityGroups", "security group", ec2, &unmatched));
        }
        if !unmatched.is_empty() {
            let (region, filters) = (&*ec2.access.region, messages::filters_text(&unmatched));
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

    pub(crate) async fn sees_group(
        &self,
        name: &str,
        values: Vec<String>,
    ) -> Result<bool, CloudError> {
        let (ec2, filters) = (self.ec2, vec![among(name, values)]);
        let lookup = async { Ok(!ec2.security_groups(&filters).await?.is_empty()) };
        cached(&self.machines.resolver.visible_groups, ec2, filters.clone(), lookup).await
    }

    pub(crate) async fn sees_subnet(
        &self,
        name: &str,
        values: Vec<String>,
    ) -> Result<bool, CloudError> {
        let (ec2, filters) = (self.ec2, vec![among(name, values)]);
        let wanted = ResourceReference { filters: filters.clone(), ..ResourceReference::default() };
        let lookup = async { Ok(!ec2.subnets(&wanted).await?.is_empty()) };
        cached(&self.machines.resolver.visible_subnets, ec2, filters, lookup).await
    }

    pub(crate) async fn user_data(&self, secret: &str) -> Result<Arc<str>, CloudError> {
        let key = ObjectKey::new(&*self.machine.key.namespace, secret);
        let lookup = async {
            let read = self.machines.parts.secrets.read(&key).await;
            let data = read.map_err(|failure| {
                let class = match failure.category {
                    Category::NotFound | Category::InvalidConfiguration => ErrorClass::NotFound,
                    Category::Unauthorised => ErrorClass::Unauthorised,
                    _ => ErrorClass::Unavailable,
                };
                let text = messages::user_data_unreadable(&key, failure.message);
                no_effect(class, text)
            })?;
            let data = data.0.get(USER_DATA).ok_or_else(|| {
                let text = messages::user_data_missing(&key, USER_DATA);
                CloudError::new(ErrorClass::NotFound, text)
            })?;
            Ok(STANDARD.encode(data).into())
        };
        self.machines.resolver.user_data.get(key.clone(), lookup).await
    }
}

fn among(name: &str, values: Vec<String>) -> Filter {
    Filter { name: name.to_owned(), values }
}

fn choose(found: &[Subnet], attempt: u32) -> Option<Subnet> {
    let mut subnets: Vec<_> = found.iter().collect();
    subnets.sort_by(|a, b| a.id.cmp(&b.id));
    let turn = usize::try_from(attempt.saturating_sub(1)).unwrap_or(0);
    subnets.get(turn % subnets.len().max(1)).copied().cloned()
}

fn invalid(message: impl Into<String>) -> CloudError {
    CloudError::new(ErrorClass::InvalidConfiguration, message)
}

fn no_match(field: &str, what: &str, ec2: &Ec2, filters: &[Filter]) -> CloudError {
    invalid(messages::no_match(field, what, &ec2.access, filters))
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
