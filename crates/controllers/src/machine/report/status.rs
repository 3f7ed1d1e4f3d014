//! The status patch: only the fields that differ.

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_DRAINABLE, CONDITION_IN_PLACE_UPDATE, CONDITION_PRESERVED, CONDITION_TERMINABLE,
    REASON_HOOK_PRESENT, SEVERITY_WARNING,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::machine::Phase;
use machinist_domain::patch::difference;
use machinist_provider::cloud::Address;
use serde_json::{Map, Value, json};

use super::super::messages;
use super::super::snapshot::View;
use super::facts::{Facts, InPlace};
use super::preserved;
use crate::kinds::Hook;
use crate::served::Field;

pub(super) fn patch(view: &View, facts: &Facts, now: Timestamp) -> Option<Value> {
    if facts.is_silent || facts.is_settling {
        return None;
    }
    let status = &view.machine.status;
    let mut patch = Map::new();
    if let Some(phase) = facts.phase.filter(|_| facts.phase != status.phase) {
        patch.insert("phase".to_owned(), phase.as_str().into());
    }
    let preserved = preserved::condition(view, facts, now);
    let without = match &preserved {
        None if !facts.is_elsewhere() => {
            conditions::without(&status.conditions, CONDITION_PRESERVED)
        }
        _ => None,
    };
    let without = match facts.in_place {
        InPlace::Absent => {
            let current = without.as_deref().unwrap_or(&status.conditions);
            conditions::without(current, CONDITION_IN_PLACE_UPDATE).or(without)
        }
        InPlace::Unchanged | InPlace::Is(_) => without,
    };
    let current = without.as_deref().unwrap_or(&status.conditions);
    let wanted = wanted(view, facts, preserved);
    if let Some(list) = conditions::set(current, wanted, now).or(without) {
        patch.insert("conditions".to_owned(), conditions::to_json(&list));
    }
    if let Some(stored) = &facts.stored
        && let Some(change) = difference(&view.stored.0, &stored.0)
    {
        patch.insert("providerStatus".to_owned(), change);
    }
    if let Some(instance) = &facts.instance
        && *instance.addresses != *status.addresses
    {
        patch.insert("addresses".to_owned(), addresses(&instance.addresses));
    }
    if !facts.is_elsewhere() {
        errors(view, facts, &mut patch);
    }
    if patch.is_empty() {
        return None;
    }
    let now = conditions::whole_seconds(now);
    patch.insert("lastUpdated".to_owned(), json!(now.to_string()));
    Some(Value::Object(patch))
}

/// The conditions to set. A Machine that is managed elsewhere gets `Paused` only.
fn wanted(view: &View, facts: &Facts, preserved: Option<Condition>) -> Vec<Condition> {
    let mut wanted: Vec<_> = facts.paused.iter().cloned().collect();
    if facts.is_elsewhere() {
        return wanted;
    }
    let hooks = &view.machine.hooks;
    wanted.push(unless_hooked(CONDITION_DRAINABLE, &hooks.pre_drain, messages::drain_blocked));
    let blocked = messages::termination_blocked;
    wanted.push(unless_hooked(CONDITION_TERMINABLE, &hooks.pre_terminate, blocked));
    wanted.extend(facts.instance_exists.clone());
    wanted.extend(facts.drained.clone());
    wanted.extend(facts.ready.clone());
    wanted.extend(preserved);
    if let InPlace::Is(condition) = &facts.in_place {
        wanted.push(condition.clone());
    }
    wanted
}

fn unless_hooked(kind: &'static str, hooks: &[Hook], text: fn(&[Hook]) -> String) -> Condition {
    if hooks.is_empty() {
        return Condition::yes(kind);
    }
    Condition::no(kind, SEVERITY_WARNING, REASON_HOOK_PRESENT, text(hooks))
}

fn addresses(list: &[Address]) -> Value {
    let one =
        |address: &Address| json!({"type": address.kind.as_str(), "address": &*address.address});
    list.iter().map(one).collect()
}

/// The error fields of a failed Machine, under OpenShift's and upstream's names.
fn errors(view: &View, facts: &Facts, patch: &mut Map<String, Value>) {
    let status = &view.machine.status;
    let message = facts.fatal.as_ref().map(ToString::to_string);
    let (reason, message) = match (&facts.fatal, facts.phase) {
        (Some(fatal), _) => (fatal.error_reason(), message.as_deref()),
        (None, Some(Phase::Failed)) => {
            (status.error_reason.as_deref(), status.error_message.as_deref())
        }
        (None, _) => (None, None),
    };
    set(patch, "errorReason", status.error_reason.as_deref(), reason);
    set(patch, "errorMessage", status.error_message.as_deref(), message);
    let has_changes = !patch.is_empty();
    let are_there = status.failure_reason.is_some() || status.failure_message.is_some();
    let fields = match view.rules.failure_fields {
        Field::Unknown => has_changes || are_there,
        Field::Served => true,
        Field::Dropped => false,
    };
    if fields {
        set(patch, "failureReason", status.failure_reason.as_deref(), reason);
        set(patch, "failureMessage", status.failure_message.as_deref(), message);
    }
}

fn set(patch: &mut Map<String, Value>, name: &str, current: Option<&str>, wanted: Option<&str>) {
    if current != wanted {
        patch.insert(name.to_owned(), json!(wanted));
    }
}
