use std::{fmt, sync::Arc, time::Duration};

use super::{ApiRequest, EventFilter, Gate, Verb};

type Predicate = Arc<dyn Fn(&ApiRequest) -> bool + Send + Sync>;

/// Every part is optional; those that are given must all hold.
#[derive(Clone, Default)]
pub struct Match {
    pub user_agent: Option<String>,
    /// Empty means any.
    pub verbs: Vec<Verb>,
    /// Empty text for the core group.
    pub group: Option<String>,
    pub resource: Option<String>,
    pub except: Vec<String>,
    pub subresource: Option<String>,
    pub namespace: Option<String>,
    /// As [`ApiRequest::name`] has it.
    pub name: Option<String>,
    predicate: Option<Predicate>,
}

impl Match {
    pub fn any() -> Self {
        Self::default()
    }

    pub fn writes() -> Self {
        Self::any().verbs([
            Verb::Create,
            Verb::Update,
            Verb::Patch,
            Verb::Delete,
            Verb::DeleteCollection,
        ])
    }

    #[must_use]
    pub fn user_agent(mut self, prefix: impl Into<String>) -> Self {
        self.user_agent = Some(prefix.into());
        self
    }

    #[must_use]
    pub fn verbs(mut self, verbs: impl IntoIterator<Item = Verb>) -> Self {
        self.verbs = verbs.into_iter().collect();
        self
    }

    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    #[must_use]
    pub fn except(mut self, resource: impl Into<String>) -> Self {
        self.except.push(resource.into());
        self
    }

    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    #[must_use]
    pub fn that(mut self, predicate: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Arc::new(predicate));
        self
    }

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

#[derive(Debug, Clone)]
pub enum Effect {
    /// Not forwarded; answered with a Kubernetes `Status` that fits the verb.
    Answer {
        code: u16,
        retry_after: Option<u32>,
    },
    /// Not forwarded and never answered: the client has to give up.
    Timeout,
    ResetBefore,
    /// Carried out by the API server, then the connection is closed without an answer.
    LoseAnswer,
    /// Before forwarding, until the gate is opened or the client is gone.
    Hold(Gate),
    /// Carried out by the API server, the answer parked.
    HoldAfter(Gate),
    Delay(Duration),
    /// Forwarded when the gate opens, even if the client is dead by then. The client gets no answer: its connection is
    /// closed at once, or, if it `hangs`, stays open.
    LandLate {
        gate: Gate,
        hangs: bool,
    },
    /// For watches; the order stays.
    DelayEvents(Duration),
    HideEvents(EventFilter),
    /// For lists and watches: of the whole collection only the object of this name is there.
    OnlyNamed(String),
    /// Counted from when the request came in, whatever is under way.
    DropConnection(Duration),
}

impl Effect {
    pub const fn answer(code: u16) -> Self {
        Self::Answer { code, retry_after: None }
    }

    pub const fn too_many_requests(retry_after: u32) -> Self {
        Self::Answer { code: 429, retry_after: Some(retry_after) }
    }

    /// Whether the effect applies to this request; if not, the rule is not used up by it.
    pub(super) fn can_touch(&self, request: &ApiRequest) -> bool {
        match self {
            Self::DelayEvents(_) | Self::HideEvents(_) => request.verb == Verb::Watch,
            Self::OnlyNamed(_) => matches!(request.verb, Verb::List | Verb::Watch),
            _ => true,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Rule {
    pub when: Match,
    /// Of matching requests.
    pub skip: u32,
    /// `None` means all that follow.
    pub times: Option<u32>,
    pub effect: Effect,
}

impl Rule {
    pub const fn new(when: Match, effect: Effect) -> Self {
        Self { when, skip: 0, times: None, effect }
    }

    #[must_use]
    pub const fn skip(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// An overloaded API server that still has room for leases.
    pub fn throttle_all_but_leases(retry_after: u32) -> Self {
        Self::new(Match::any().except("leases"), Effect::too_many_requests(retry_after))
    }
}
