//! Rules: which requests are disturbed, how often, and how. Plain data with short builders.
//!
//! Not here: counting how often a rule has acted (`rulebook`) and carrying it out (`serve`).

use std::{fmt, sync::Arc, time::Duration};

use super::{ApiRequest, EventFilter, Gate, Verb};

/// A condition that the fields of [`Match`] cannot express.
type Predicate = Arc<dyn Fn(&ApiRequest) -> bool + Send + Sync>;

/// Which requests a rule is about. Every part is optional; those that are given must all hold.
#[derive(Clone, Default)]
pub struct Match {
    /// Beginning of the `User-Agent` header.
    pub user_agent: Option<String>,
    /// One of these verbs; empty means any.
    pub verbs: Vec<Verb>,
    /// API group, empty text for the core group.
    pub group: Option<String>,
    /// Plural name of the resource.
    pub resource: Option<String>,
    /// None of these resources.
    pub except: Vec<String>,
    /// `status`, `scale`, …
    pub subresource: Option<String>,
    /// Namespace in the path.
    pub namespace: Option<String>,
    /// Name as [`ApiRequest::name`] has it.
    pub name: Option<String>,
    predicate: Option<Predicate>,
}

impl Match {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request that changes something.
    pub fn writes() -> Self {
        Self::any().verbs([
            Verb::Create,
            Verb::Update,
            Verb::Patch,
            Verb::Delete,
            Verb::DeleteCollection,
        ])
    }

    /// Only clients whose `User-Agent` begins like this.
    #[must_use]
    pub fn user_agent(mut self, prefix: impl Into<String>) -> Self {
        self.user_agent = Some(prefix.into());
        self
    }

    /// Only these verbs.
    #[must_use]
    pub fn verbs(mut self, verbs: impl IntoIterator<Item = Verb>) -> Self {
        self.verbs = verbs.into_iter().collect();
        self
    }

    /// Only this resource (plural name).
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Every resource but this one.
    #[must_use]
    pub fn except(mut self, resource: impl Into<String>) -> Self {
        self.except.push(resource.into());
        self
    }

    /// Only this subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only the object of this name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only requests for which `predicate` holds, in addition to everything else.
    #[must_use]
    pub fn that(mut self, predicate: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Arc::new(predicate));
        self
    }

    /// Whether the request is meant.
    pub fn fits(&self, request: &ApiRequest) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        self.user_agent.as_ref().is_none_or(|prefix| request.user_agent.starts_with(prefix))
            && (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && same(&self.group, Some(&request.group))
            && same(&self.resource, Some(&request.resource))
            && !self.except.contains(&request.resource)
            && same(&self.subresource, request.subresource.as_deref())
            && same(&self.namespace, request.namespace.as_deref())
            && same(&self.name, request.name.as_deref())
            && self.predicate.as_ref().is_none_or(|predicate| predicate(request))
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Match")
            .field("user_agent", &self.user_agent)
            .field("verbs", &self.verbs)
            .field("group", &self.group)
            .field("resource", &self.resource)
            .field("except", &self.except)
            .field("subresource", &self.subresource)
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("predicate", &self.predicate.is_some())
            .finish()
    }
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Not forwarded; answered with this code and a Kubernetes `Status` that fits the verb.
    Answer {
        /// HTTP status code.
        code: u16,
        /// Seconds in a `Retry-After` header.
        retry_after: Option<u32>,
    },
    /// Not forwarded and never answered: the client has to give up.
    Timeout,
    /// Not forwarded; the connection is closed.
    ResetBefore,
    /// Carried out by the API server, then the connection is closed without an answer.
    LoseAnswer,
    /// Parked before forwarding until the gate is opened or the client is gone.
    Hold(Gate),
    /// Carried out by the API server, the answer parked until the gate is opened or the client is gone.
    HoldAfter(Gate),
    /// Forwarded after this time.
    Delay(Duration),
    /// For watches: each event is delivered this much later, in order.
    DelayEvents(Duration),
    /// For watches: events that fit the filter never arrive.
    HideEvents(EventFilter),
    /// For lists and watches: of the whole collection only the object of this name is there.
    OnlyNamed(String),
    /// The connection is closed this long after the request came in, whatever is under way.
    DropConnection(Duration),
}

impl Effect {
    /// An error answer without `Retry-After`.
    pub const fn answer(code: u16) -> Self {
        Self::Answer { code, retry_after: None }
    }

    /// 429 with `Retry-After`.
    pub const fn too_many_requests(retry_after: u32) -> Self {
        Self::Answer { code: 429, retry_after: Some(retry_after) }
    }

    /// Whether the effect can do anything to the request; if not, the rule is not used up by it.
    pub(super) fn can_touch(&self, request: &ApiRequest) -> bool {
        match self {
            Self::DelayEvents(_) | Self::HideEvents(_) => request.verb == Verb::Watch,
            Self::OnlyNamed(_) => matches!(request.verb, Verb::List | Verb::Watch),
            _ => true,
        }
    }
}

/// One disturbance: which requests, how many of them, and what happens to each.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which requests.
    pub when: Match,
    /// This many matching requests pass first.
    pub skip: u32,
    /// Then this many are disturbed; `None` means all that follow.
    pub times: Option<u32>,
    /// How.
    pub effect: Effect,
}

impl Rule {
    /// Disturbs every matching request.
    pub const fn new(when: Match, effect: Effect) -> Self {
        Self { when, skip: 0, times: None, effect }
    }

    /// Lets the first `skip` matching requests pass.
    #[must_use]
    pub const fn skip(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    /// Disturbs at most `times` requests.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// An overloaded API server that still has room for leases: 429 to everything else.
    pub fn throttle_all_but_leases(retry_after: u32) -> Self {
        Self::new(Match::any().except("leases"), Effect::too_many_requests(retry_after))
    }
}
