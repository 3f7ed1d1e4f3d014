//! Finds out what a spec leaves open: the image, the security groups, the subnet with its zone, user data.
//!
//! Every question is one of reading. What EC2 does not know is a mistake in the spec; that it could not be asked is not.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinist_aws_spec::config::{Filter, ProviderConfig};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Category;
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::{Clock, Parts};

use super::calls::{Image, Subnet};
use super::errors::{At, judge};
use crate::ec2::Ec2;
use crate::errors::AwsError;

const USER_DATA: &str = "userData";

/// Long enough for a set that scales up by hundreds, short enough that an edit is seen soon.
const SHORT: Duration = Duration::from_secs(30);

/// For what hardly ever changes and concerns every machine.
const LONG: Duration = Duration::from_mins(10);

/// How long an answer is kept. A failure is not.
pub(super) fn keep_answer<T, E>(answer: &Result<T, E>) -> Duration {
    if answer.is_ok() { SHORT } else { Duration::ZERO }
}

/// As [`keep_answer`], but an empty answer is not kept: users who see that nothing matches create or tag something and expect a quick retry.
fn keep_matches<T, E>(answer: &Result<Arc<[T]>, E>) -> Duration {
    if answer.as_ref().is_ok_and(|found| !found.is_empty()) { SHORT } else { Duration::ZERO }
}

type Answers<T> = Lookups<Asked, Result<T, AwsError>>;

/// What a launch needs and a spec may leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) image: String,
    /// Known where a volume of the spec has no name.
    pub(super) root_device: Option<String>,
    pub(super) security_groups: Vec<String>,
    pub(super) subnet: Subnet,
    /// Whether other zones would do, too.
    pub(super) elsewhere: bool,
    /// Whether other subnets would.
    pub(super) other_subnets: bool,
    pub(super) is_wavelength: bool,
}

/// By id, or by filters in a zone.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Wanted {
    Id(String),
    Like(String, Vec<Filter>),
}

type Asked = (Realm, Wanted);

/// Looks things up, and remembers them for a short time.
pub(super) struct Resolver {
    parts: Parts,
    images: Answers<Arc<[Image]>>,
    groups: Answers<Arc<[String]>>,
    subnets: Answers<Arc<[Subnet]>>,
    zones: Answers<bool>,
    domains: Answers<Arc<[String]>>,
    user_data: Lookups<ObjectKey, Result<Arc<str>, CloudError>>,
    /// Whether security groups are visible; kept also where none is, because all machines of an account ask the same.
    visible_groups: Answers<bool>,
    visible_subnets: Answers<bool>,
}

impl Resolver {
    pub(super) fn new(parts: &Parts) -> Self {
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

    /// Forgets what a launch is made of, so that it is asked for anew.
    pub(super) fn forget(&self) {
        self.images.forget_all();
        self.groups.forget_all();
        self.subnets.forget_all();
    }

    pub(super) async fn resolve(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<Resolved, CloudError> {
        let realm = &machine.realm;
        if let Some(secret) = config.user_data_secret() {
            self.user_data(machine, secret).await?;
        }
        let (image, root_device) = self.image(ec2, realm, config).await?;
        let security_groups = self.security_groups(ec2, realm, config).await?;
        let found = self.subnets_of(ec2, machine, config).await?;
        let subnet = choose(&found, machine.attempt)
            .ok_or_else(|| nothing("subnet: no subnet", realm, &config.subnet.filters))?;
        let elsewhere = found.iter().any(|other| other.zone != subnet.zone);
        let other_subnets = found.iter().any(|other| other.id != subnet.id);
        // Only an address from outside differs there.
        let mut is_wavelength = false;
        if config.public_ip.is_some() {
            let key = (realm.clone(), Wanted::Id(subnet.zone.clone()));
            let zone = self.zones.get(key, ec2.is_wavelength(&subnet.zone)).await;
            is_wavelength = zone.map_err(|error| judge(&error, At::realm(realm)))?;
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

    /// The image and its root device. One that is named is looked at only for the sake of a root volume: EC2 refuses a wrong one itself.
    async fn image(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        config: &ProviderConfig,
    ) -> Result<(String, Option<String>), CloudError> {
        let mut volumes = config.block_devices.iter().filter(|device| device.ebs.is_some());
        let needs_root = volumes.any(|device| device.name().is_none());
        let found = match config.ami.id() {
            Some(id) if !needs_root => return Ok((id.to_owned(), None)),
            Some(id) => {
                let key = (realm.clone(), Wanted::Id(id.to_owned()));
                self.images.get(key, async { ec2.image(id).await.map(Into::into) }).await
            }
            None => {
                let filters = &config.ami.filters;
                let key = (realm.clone(), Wanted::Like(String::new(), filters.clone()));
                self.images.get(key, async { ec2.images(filters).await.map(Into::into) }).await
            }
        };
        let found = found.map_err(|error| judge(&error, At::realm(realm)))?;
        let newest = found.iter().max_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        let newest = newest.ok_or_else(|| nothing("ami: no image", realm, &config.ami.filters))?;
        if needs_root && newest.root_device.is_none() {
            return Err(mistake(&format!("ami: image {} has no root device", newest.id)));
        }
        Ok((newest.id.clone(), newest.root_device.clone().filter(|_| needs_root)))
    }

    /// Named groups as they are, and all that fit the filters of the others. Filters that nothing fits are passed over beside others, as OpenShift's
    /// provider does.
    async fn security_groups(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        config: &ProviderConfig,
    ) -> Result<Vec<String>, CloudError> {
        let (mut ids, mut filters) = (Vec::new(), Vec::new());
        for group in &config.security_groups {
            if let Some(id) = group.id() {
                ids.push(id.to_owned());
                continue;
            }
            let found = self.groups_like(ec2, realm, &group.filters).await?;
            if found.is_empty() {
                filters.extend_from_slice(&group.filters);
            }
            ids.extend(found.iter().cloned());
        }
        if config.security_groups.is_empty() {
            return Err(mistake("securityGroups: there must be one at least"));
        }
        if ids.is_empty() {
            return Err(nothing("securityGroups: no security group", realm, &filters));
        }
        if !filters.is_empty() {
            let (region, filters) = (&*realm.region, spoken(&filters));
            tracing::warn!(region, filters, "no security group fits: machines go without it");
        }
        // In one order, and each one once: EC2 promises neither.
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// The subnets that a machine may be in.
    async fn subnets_of(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<Arc<[Subnet]>, CloudError> {
        let realm = &machine.realm;
        let (subnet, zone) = (&config.subnet, &config.placement.availability_zone);
        let Some(id) = subnet.id() else {
            return self.subnets_like(ec2, realm, zone, &subnet.filters).await;
        };
        let key = (realm.clone(), Wanted::Id(id.to_owned()));
        let found = self.subnets.get(key, async { ec2.subnet(id).await.map(Into::into) }).await;
        found.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// Whether there is a security group that fits.
    pub(super) async fn sees_groups(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        filter: Filter,
    ) -> Result<bool, CloudError> {
        let filters = vec![filter];
        let ask = async { Ok(!ec2.security_groups(&filters).await?.is_empty()) };
        let key = (realm.clone(), Wanted::Like(String::new(), filters.clone()));
        let seen = self.visible_groups.get(key, ask).await;
        seen.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// Whether there is a subnet that fits.
    pub(super) async fn sees_subnets(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        filter: Filter,
    ) -> Result<bool, CloudError> {
        let filters = vec![filter];
        let ask = async { Ok(!ec2.subnets("", &filters).await?.is_empty()) };
        let key = (realm.clone(), Wanted::Like(String::new(), filters.clone()));
        let seen = self.visible_subnets.get(key, ask).await;
        seen.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// The security groups that fit.
    async fn groups_like(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        filters: &[Filter],
    ) -> Result<Arc<[String]>, CloudError> {
        let key = (realm.clone(), Wanted::Like(String::new(), filters.to_vec()));
        let ask = async { ec2.security_groups(filters).await.map(Into::into) };
        self.groups.get(key, ask).await.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// The subnets that fit, of a zone if one is named.
    async fn subnets_like(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        zone: &str,
        filters: &[Filter],
    ) -> Result<Arc<[Subnet]>, CloudError> {
        let key = (realm.clone(), Wanted::Like(zone.to_owned(), filters.to_vec()));
        let ask = async { ec2.subnets(zone, filters).await.map(Into::into) };
        self.subnets.get(key, ask).await.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// The names of a network.
    pub(super) async fn domains(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        vpc: &str,
    ) -> Result<Arc<[String]>, AwsError> {
        let key = (realm.clone(), Wanted::Id(vpc.to_owned()));
        self.domains.get(key, async { ec2.domains(vpc).await.map(Into::into) }).await
    }

    /// User data in base64, as EC2 wants it.
    pub(super) async fn user_data(
        &self,
        machine: &MachineRef,
        secret: &str,
    ) -> Result<Arc<str>, CloudError> {
        let key = ObjectKey::new(&*machine.key.namespace, secret);
        let path = format!("userDataSecret: secret {key}");
        let ask = async {
            let read = self.parts.secrets.read(&key).await;
            let data = read.map_err(|failure| {
                let class = match failure.category {
                    Category::NotFound | Category::InvalidConfiguration => ErrorClass::NotFound,
                    Category::Unauthorised => ErrorClass::Unauthorised,
                    _ => ErrorClass::Unavailable,
                };
                let is_named = failure.message.contains(&key.to_string());
                let path = if is_named { "userDataSecret" } else { &*path };
                unasked(class, format!("{path}: {}", failure.message))
            })?;
            let data = data.0.get(USER_DATA).ok_or_else(|| {
                unasked(ErrorClass::NotFound, format!("{path} has no key {USER_DATA:?}"))
            })?;
            Ok(STANDARD.encode(data).into())
        };
        self.user_data.get(key.clone(), ask).await
    }
}

/// The attempts of a machine go round the subnets.
fn choose(found: &[Subnet], attempt: u32) -> Option<Subnet> {
    let mut subnets: Vec<_> = found.iter().collect();
    subnets.sort_by(|a, b| a.id.cmp(&b.id));
    let turn = usize::try_from(attempt.saturating_sub(1)).unwrap_or(0);
    subnets.get(turn % subnets.len().max(1)).copied().cloned()
}

/// Something in the spec that only an edit mends.
fn mistake(message: &str) -> CloudError {
    CloudError::new(ErrorClass::InvalidConfiguration, message)
}

/// Nothing fits these filters.
fn nothing(what: &str, realm: &Realm, filters: &[Filter]) -> CloudError {
    mistake(&format!("{what} fits in {}: {}", realm.region, spoken(filters)))
}

/// Filters as people write them: `tag:Name=a|b, vpc-id=c`.
fn spoken(filters: &[Filter]) -> String {
    let spoken = |filter: &Filter| format!("{}={}", filter.name, filter.values.join("|"));
    filters.iter().map(spoken).collect::<Vec<_>>().join(", ")
}

/// AWS was not even asked.
fn unasked(class: ErrorClass, message: String) -> CloudError {
    CloudError { effect: Effect::None, ..CloudError::new(class, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_go_round_the_subnets_in_one_order() {
        let subnet = |id: &str, zone: &str| Subnet { id: id.to_owned(), zone: zone.to_owned() };
        let found = [subnet("b", "2"), subnet("a", "1")];
        for (attempt, id) in [(1, "a"), (2, "b"), (3, "a")] {
            assert_eq!(choose(&found, attempt).unwrap().id, id);
        }
        assert_eq!(choose(&[], 1), None);
    }
}
