//! What a machine of some type gives, as the cloud says.
//!
//! Asking takes time and may fail, so nobody waits for it: [`CapacitySource::look`] answers at once with what is known, and what is not known
//! yet is asked for in the background. Listeners hear when an answer comes or changes. The source retries by itself.

use std::fmt;
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::retry::Failure;
use machinist_domain::shape::Capacity;

/// Whom to ask, as whom. Two objects with the same realm share every answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Realm {
    /// The cloud's region.
    pub region: Arc<str>,
    /// As whom.
    pub credentials: Credentials,
    /// Where the service is, if not where it usually is.
    pub endpoint: Option<Arc<str>>,
    /// Certificates in PEM to trust beside the system's own.
    pub ca_bundle: Option<Arc<str>>,
}

/// As whom to ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// As whoever this process is: environment, web identity, instance role.
    Ambient,
    /// As a Secret says. Its version is part of the identity: a changed secret is another realm.
    Secret {
        /// Which Secret.
        key: ObjectKey,
        /// Which version of it.
        version: Version,
    },
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// Whom to ask, as whom.
    pub realm: Realm,
    /// The cloud's name for the size of machine.
    pub instance_type: Arc<str>,
}

/// What is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet; somebody is asking.
    NotAsked,
    /// The cloud could not be asked, or refused to tell. The source tries again by itself, unless the failure waits for a change.
    Unknown(Failure),
    /// The cloud knows its types, and this is none of them.
    Absent,
    /// The type gives this.
    Present(Capacity),
}

/// A table of instance types that needs no request.
pub type Catalogue = fn(&str) -> Option<Capacity>;

/// Where a provider's capacities come from. A provider that has neither source gets no capacity annotations.
#[derive(Clone, Default)]
pub struct Capacities {
    /// The cloud's API.
    pub cloud: Option<Arc<dyn CapacitySource>>,
    /// A table, for a provider without `cloud` and for when the cloud cannot be asked.
    pub catalogue: Option<Catalogue>,
}

impl fmt::Debug for Capacities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cloud, catalogue) = (self.cloud.is_some(), self.catalogue.is_some());
        f.debug_struct("Capacities").field("cloud", &cloud).field("catalogue", &catalogue).finish()
    }
}

/// Hears that answers came or changed: the realm, and the types.
pub type Listener = Box<dyn Fn(&Realm, &[Arc<str>]) + Send + Sync>;

/// Says what machines give.
pub trait CapacitySource: Send + Sync {
    /// What is known now; never waits. What is not known yet is asked for in the background.
    fn look(&self, question: &Question) -> Answer;

    /// Nobody asks in the name of this Secret any more.
    fn forget(&self, secret: &ObjectKey);

    /// Calls `listener` whenever an answer comes or changes. It must not block.
    fn listen(&self, listener: Listener);
}
