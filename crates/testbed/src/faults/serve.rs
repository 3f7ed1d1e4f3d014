//! A request that was forwarded is finished at the API server even if its client is gone meanwhile, as it would be on
//! a real network.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header, request, response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::RwLock;
use tokio::time::Instant;

use super::{
    ApiRequest, Effect, Gate, Verb,
    body::{self, Body, Chunks, Cut},
    log::{Outcome, RequestLog, Ticket},
    rulebook::Rulebook,
    status,
    upstream::{Upstream, without_hop_by_hop},
};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rules: Rulebook,
    pub(super) log: RequestLog,
    pub(super) upstream: Arc<Upstream>,
    /// Each under a path of its own.
    pub(super) routes: RwLock<Vec<Arc<Upstream>>>,
}

impl Shared {
    fn upstream(&self, path: &str) -> Arc<Upstream> {
        let routes = self.routes.read();
        let route = routes.iter().find(|route| path.starts_with(route.under()));
        Arc::clone(route.unwrap_or(&self.upstream))
    }
}

/// An error closes the connection.
pub(super) async fn serve(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Cut> {
    let (head, body) = request.into_parts();
    // The client broke off while it was still sending: there is no client to answer and nothing to log.
    let body = body.collect().await.map_err(|_| Cut::OnPurpose)?.to_bytes();
    let request = Arc::new(ApiRequest::new(&head, body));
    let ticket = shared.log.open(Arc::clone(&request));
    let effect = shared.rules.effect_for(&request);
    let upstream = shared.upstream(&request.path);
    Exchange { upstream, head, request, ticket }.run(effect).await
}

struct Exchange {
    upstream: Arc<Upstream>,
    head: request::Parts,
    request: Arc<ApiRequest>,
    ticket: Ticket,
}

enum Answer {
    Whole(response::Parts, Bytes),
    Stream(response::Parts, Incoming),
}

async fn answer(
    upstream: &Upstream,
    head: &request::Parts,
    body: Bytes,
    streams: bool,
) -> Result<Answer, Cut> {
    let (head, body) = upstream.send(head, body).await?.into_parts();
    if streams && head.status.is_success() {
        return Ok(Answer::Stream(head, body));
    }
    let body = body.collect().await.map_err(|e| Cut::Upstream(e.to_string()))?;
    Ok(Answer::Whole(head, body.to_bytes()))
}

impl Exchange {
    async fn run(self, effect: Option<Effect>) -> Result<Response<Body>, Cut> {
        let Some(effect) = effect else {
            return self.pass(|chunks| chunks).await;
        };
        match effect {
            Effect::Answer { code, retry_after } => Ok(self.answer(code, retry_after)),
            Effect::Timeout => std::future::pending().await,
            Effect::ResetBefore => self.close(Outcome::Cut),
            Effect::LoseAnswer => match self.forward().await {
                Ok(_) => self.close(Outcome::AnswerLost),
                Err(cut) => self.close(cut.into()),
            },
            Effect::Hold(gate) => {
                gate.pass().await;
                self.pass(|chunks| chunks).await
            }
            Effect::HoldAfter(gate) => match self.forward_to(Some(gate.clone())).await {
                Ok(answer) => {
                    gate.opened().await;
                    Ok(self.deliver(answer, |chunks| chunks))
                }
                Err(cut) => self.close(cut.into()),
            },
            Effect::Delay(by) => {
                tokio::time::sleep(by).await;
                self.pass(|chunks| chunks).await
            }
            Effect::LandLate { gate, hangs } => {
                // In a task of its own, because it outlives its client.
                tokio::spawn(self.land(gate));
                if hangs { std::future::pending().await } else { Err(Cut::OnPurpose) }
            }
            Effect::DelayEvents(by) => self.pass(|chunks| body::delayed(chunks, by)).await,
            Effect::HideEvents(filter) => self.pass(|chunks| body::without(chunks, filter)).await,
            Effect::OnlyNamed(name) => self.only_named(&name)?.pass(|chunks| chunks).await,
            Effect::DropConnection(after) => {
                let at = Instant::now() + after;
                match tokio::time::timeout_at(at, self.forward()).await {
                    Ok(Ok(answer)) => Ok(self.deliver(answer, |chunks| body::cut_at(chunks, at))),
                    Ok(Err(cut)) => self.close(cut.into()),
                    Err(_) => self.close(Outcome::Cut),
                }
            }
        }
    }

    /// The request counts as under way until then.
    async fn land(self, gate: Gate) {
        gate.pass().await;
        let outcome = match self.forward().await {
            Ok(_) => Outcome::LandedLate,
            Err(cut) => cut.into(),
        };
        self.ticket.close(outcome);
    }

    fn only_named(mut self, name: &str) -> Result<Self, Cut> {
        let asked = &self.head.uri;
        let sign = if asked.query().is_some() { '&' } else { '?' };
        let narrowed = format!("{asked}{sign}fieldSelector=metadata.name%3D{name}");
        self.head.uri = narrowed.parse().map_err(|_| Cut::OnPurpose)?;
        Ok(self)
    }

    async fn pass(self, shape: impl FnOnce(Chunks) -> Chunks) -> Result<Response<Body>, Cut> {
        match self.forward().await {
            Ok(answer) => Ok(self.deliver(answer, shape)),
            Err(cut) => self.close(cut.into()),
        }
    }

    async fn forward(&self) -> Result<Answer, Cut> {
        self.forward_to(None).await
    }

    /// In a task of its own so that it survives its client. The answer arrives at the gate in any case: a client that
    /// gave up just before can be killed as well as one that waits.
    async fn forward_to(&self, gate: Option<Gate>) -> Result<Answer, Cut> {
        let (upstream, head) = (Arc::clone(&self.upstream), self.head.clone());
        let body = self.request.body.clone();
        let streams = self.streams();
        let task = tokio::spawn(async move {
            let answer = answer(&upstream, &head, body, streams).await?;
            if let Some(gate) = gate {
                gate.arrive();
            }
            Ok(answer)
        });
        let answer = task.await.unwrap_or_else(|e| Err(Cut::Upstream(e.to_string())))?;
        let (Answer::Whole(head, _) | Answer::Stream(head, _)) = &answer;
        self.ticket.status(head.status.as_u16());
        Ok(answer)
    }

    /// Whether the answer has no natural end.
    fn streams(&self) -> bool {
        let follows = || self.head.uri.query().is_some_and(|query| query.contains("follow=true"));
        self.request.verb == Verb::Watch
            || (self.request.subresource.as_deref() == Some("log") && follows())
    }

    fn deliver(self, answer: Answer, shape: impl FnOnce(Chunks) -> Chunks) -> Response<Body> {
        let (head, body) = match answer {
            Answer::Whole(head, bytes) => {
                self.ticket.close(Outcome::Answered);
                (head, body::whole(bytes))
            }
            Answer::Stream(head, incoming) => {
                (head, body::streamed(shape(body::chunks(incoming)), self.ticket))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        *response.headers_mut() = without_hop_by_hop(&head.headers);
        // Recomputed from the body that is really sent.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response
    }

    fn answer(self, code: u16, retry_after: Option<u32>) -> Response<Body> {
        self.ticket.status(code);
        self.ticket.close(Outcome::Injected);
        status::error_answer(&self.request, code, retry_after).map(body::whole)
    }

    fn close(self, outcome: Outcome) -> Result<Response<Body>, Cut> {
        self.ticket.close(outcome);
        Err(Cut::OnPurpose)
    }
}
