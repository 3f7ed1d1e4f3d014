//! Effects on single requests, seen by a plain kube client and checked behind the proxy's back.

use std::time::{Duration, Instant};

use crate::faults::api_server::{admin, world};
use k8s_openapi::api::{
    authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec},
    coordination::v1::Lease,
    core::v1::{ConfigMap, ServiceAccount},
};
use kube::{
    Api, Client, Resource,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use machinist_testbed::world::PATIENCE;
use machinist_testbed::{
    World,
    faults::{Effect, Gate, Match, Options, Outcome, Proxy, Rule, Verb},
};
use serde_json::json;

const AGENT: &str = "machinist-test/1";

/// The disturbed client's view.
fn through<K>(world: &World) -> Api<K>
where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
    K::DynamicType: Default,
{
    let client = Client::try_from(world.proxy.config(AGENT).unwrap()).unwrap();
    Api::namespaced(client, &world.namespace)
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

async fn create(api: Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &map(name)).await
}

async fn exists(world: &World, name: &str) -> bool {
    world.api::<ConfigMap>().get_opt(name).await.unwrap().is_some()
}

fn status_of<T: std::fmt::Debug>(result: kube::Result<T>) -> kube::core::Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("expected an error status, got {other:?}"),
    }
}

/// The outcome of the newest request.
fn last_outcome(world: &World) -> Outcome {
    world.proxy.log().entries().pop().unwrap().outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rules_everything_passes_as_it_is_and_is_logged() {
    let world = world("pass").await;
    let api = through::<ConfigMap>(&world);
    create(api.clone(), "x").await.unwrap();
    assert!(exists(&world, "x").await);
    let missing = status_of(api.get("missing").await);
    assert_eq!((missing.code, missing.reason.as_str()), (404, "NotFound"));
    let again = status_of(create(api.clone(), "x").await);
    assert!(again.message.contains("already exists"), "the API server's own words: {again:?}");
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);

    let log = world.proxy.log().entries();
    let seen: Vec<_> = log
        .iter()
        .map(|entry| (entry.request.verb, entry.request.name.as_deref(), entry.status.unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            (Verb::Create, Some("x"), 201),
            (Verb::Get, Some("missing"), 404),
            (Verb::Create, Some("x"), 409),
            (Verb::List, None, 200),
        ]
    );
    for entry in &log {
        assert_eq!(entry.request.user_agent, AGENT);
        assert_eq!(entry.request.resource, "configmaps");
        assert_eq!(entry.request.namespace.as_deref(), Some(world.namespace.as_str()));
        assert_eq!(entry.outcome, Outcome::Answered);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn injected_answers_look_like_the_api_servers() {
    let world = world("answers").await;
    let api = through::<ConfigMap>(&world);
    for (code, reason) in [
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
    ] {
        let effect = Effect::Answer { code, retry_after: (code == 429).then_some(7) };
        world.proxy.add_rule(Rule::new(Match::writes(), effect).times(1));
        let status = status_of(create(api.clone(), "x").await);
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        let details = status.details.unwrap();
        assert_eq!((details.name.as_str(), details.kind.as_str()), ("x", "configmaps"));
        assert_eq!(details.retry_after_seconds, if code == 429 { 7 } else { 0 });
        assert!(!exists(&world, "x").await, "{code} must not be carried out");
        assert_eq!(last_outcome(&world), Outcome::Injected);
    }
    create(api.clone(), "x").await.unwrap();
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::answer(409)));
    let patch = Patch::Merge(json!({ "data": { "a": "1" } }));
    let conflict = status_of(api.patch("x", &PatchParams::default(), &patch).await);
    assert_eq!(conflict.reason, "Conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_strikes_only_what_it_names() {
    let world = world("match").await;
    let api = through::<ConfigMap>(&world);
    let when = Match::any().user_agent("machinist-").verbs([Verb::Create]).name("second");
    let rule = world.proxy.add_rule(Rule::new(when, Effect::answer(500)).skip(1).times(1));
    create(api.clone(), "first").await.unwrap();
    create(api.clone(), "second").await.unwrap();
    assert_eq!(status_of(create(api.clone(), "second").await).code, 500);
    assert_eq!(status_of(create(api.clone(), "second").await).code, 409);
    assert_eq!(rule.hits(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_was_carried_out_and_a_reset_was_not() {
    let world = world("lost").await;
    let api = through::<ConfigMap>(&world);
    world.proxy.add_rule(Rule::new(Match::any().name("lost"), Effect::LoseAnswer));
    world.proxy.add_rule(Rule::new(Match::any().name("reset"), Effect::ResetBefore));

    let lost = create(api.clone(), "lost").await.unwrap_err();
    assert!(!matches!(lost, kube::Error::Api(_)), "there must be no answer: {lost}");
    assert!(exists(&world, "lost").await);
    let entry = world.proxy.log().entries().pop().unwrap();
    assert_eq!((entry.outcome, entry.status), (Outcome::AnswerLost, Some(201)));

    let reset = create(api.clone(), "reset").await.unwrap_err();
    assert!(!matches!(reset, kube::Error::Api(_)), "there must be no answer: {reset}");
    assert!(!exists(&world, "reset").await);
    assert_eq!(last_outcome(&world), Outcome::Cut);
    create(api, "after").await.expect("the next connection works");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_lasts_until_the_client_gives_up() {
    let world = world("timeout").await;
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::Timeout).times(1));
    let call = create(through(&world), "x");
    tokio::time::timeout(Duration::from_millis(300), call).await.expect_err("no answer");
    let gone = || async {
        let outcome = last_outcome(&world);
        anyhow::ensure!(outcome == Outcome::ClientGone, "{outcome:?}");
        Ok(())
    };
    world.eventually("the proxy to notice", gone).await.unwrap();
    assert!(!exists(&world, "x").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_dies_with_its_client_or_goes_on_when_released() {
    let world = world("hold").await;
    let gate = Gate::new();
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::Hold(gate.clone())).times(2));

    let api = through::<ConfigMap>(&world);
    let victim = tokio::spawn(async move { create(api, "victim").await });
    gate.reached().await;
    assert!(!exists(&world, "victim").await);
    victim.abort();
    let gone = || async {
        let outcome = last_outcome(&world);
        anyhow::ensure!(outcome == Outcome::ClientGone, "{outcome:?}");
        Ok(())
    };
    world.eventually("the proxy to notice the death", gone).await.unwrap();

    let api = through::<ConfigMap>(&world);
    let survivor = tokio::spawn(async move { create(api, "survivor").await });
    let both = || async {
        anyhow::ensure!(gate.arrived() == 2);
        Ok(())
    };
    world.eventually("the second request", both).await.unwrap();
    gate.open();
    survivor.await.unwrap().expect("released");
    assert!(!exists(&world, "victim").await, "a dead client's request must not go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_held_afterwards_is_done_but_not_answered() {
    let world = world("hold-after").await;
    let gate = Gate::new();
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::HoldAfter(gate.clone())));
    let api = through::<ConfigMap>(&world);
    let call = tokio::spawn(async move { create(api, "x").await });
    gate.reached().await;
    assert!(exists(&world, "x").await);
    assert!(!call.is_finished());
    gate.open();
    assert_eq!(call.await.unwrap().unwrap().metadata.name.as_deref(), Some("x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_held_afterwards_reaches_its_gate_although_its_client_has_given_up() {
    let world = world("hold-given-up").await;
    let slow = Gate::new();
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::Hold(slow.clone())));
    let proxy = Proxy::start(&world.proxy.config(AGENT).unwrap()).await.unwrap();
    let gate = Gate::new();
    proxy.add_rule(Rule::new(Match::writes(), Effect::HoldAfter(gate.clone())));
    let client = Client::try_from(proxy.config(AGENT).unwrap()).unwrap();
    let api = Api::namespaced(client, &world.namespace);
    let call = tokio::spawn(async move { create(api, "x").await });
    slow.reached().await;
    call.abort();
    let gone = || async {
        let outcome = proxy.log().entries().pop().map(|entry| entry.outcome);
        anyhow::ensure!(outcome == Some(Outcome::ClientGone), "{outcome:?}");
        Ok(())
    };
    world.eventually("the client to give up", gone).await.unwrap();
    slow.open();
    tokio::time::timeout(PATIENCE, gate.reached()).await.unwrap();
    assert!(exists(&world, "x").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_request_is_carried_out_later() {
    let world = world("delay").await;
    let delay = Duration::from_millis(300);
    world.proxy.add_rule(Rule::new(Match::writes(), Effect::Delay(delay)));
    let start = Instant::now();
    create(through(&world), "x").await.unwrap();
    assert!(start.elapsed() >= delay);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_server_still_serves_leases() {
    let world = world("throttle").await;
    let rule = world.proxy.add_rule(Rule::throttle_all_but_leases(3));
    let refused = status_of(through::<ConfigMap>(&world).list(&ListParams::default()).await);
    assert_eq!(refused.code, 429);
    let lease = Lease {
        metadata: ObjectMeta { name: Some("l".to_owned()), ..ObjectMeta::default() },
        ..Lease::default()
    };
    through::<Lease>(&world).create(&PostParams::default(), &lease).await.unwrap();
    rule.remove();
    create(through(&world), "x").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_passed_on_when_asked() {
    let world = world("credentials").await;
    let accounts = world.api::<ServiceAccount>();
    let account = ServiceAccount {
        metadata: ObjectMeta { name: Some("robot".to_owned()), ..ObjectMeta::default() },
        ..ServiceAccount::default()
    };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let wish = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let token = accounts.create_token_request("robot", &PostParams::default(), &wish).await;
    let token = token.unwrap().status.unwrap().token.unwrap();

    let options = Options { pass_credentials: true };
    let proxy = Proxy::start_with(&admin().await, options).await.unwrap();
    let who = async |kubeconfig: String| {
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
        let config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let reviews = Api::<SelfSubjectReview>::all(Client::try_from(config.unwrap()).unwrap());
        reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await
    };
    let robot = who(proxy.kubeconfig_with_token(&token)).await.unwrap();
    let name = robot.status.unwrap().user_info.unwrap().username.unwrap();
    assert_eq!(name, format!("system:serviceaccount:{}:robot", world.namespace));
    let anonymous = status_of(who(proxy.kubeconfig()).await);
    assert!(matches!(anonymous.code, 401 | 403), "{anonymous:?}");
}
