//! From facts to a patch of the status: only what the object does not say yet.

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_DRAINABLE, CONDITION_PAUSED, CONDITION_TERMINABLE, REASON_HOOK_PRESENT,
    REASON_MACHINE_API, REASON_NOT_MACHINE_API, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_provider::cloud::Address;
use serde_json::{Map, Value, json};

use super::super::snapshot::View;
use super::facts::{Facts, Paused, TEXT_UNKNOWN_AUTHORITY};
use super::merge;
use crate::kinds::Hook;
use crate::served::Field;

/// A merge patch of the status; `None` where it says everything already.
pub(super) fn patch(view: &View, facts: &Facts, now: Timestamp) -> Option<Value> {
    if facts.is_silent {
        return None;
    }
    let status = &view.machine.status;
    let mut patch = Map::new();
    if let Some(authority) = facts.authority.and_then(MachineAuthority::as_str) {
        patch.insert("authoritativeAPI".to_owned(), authority.into());
    }
    if let Some(phase) = facts.phase.filter(|_| facts.phase != status.phase) {
        patch.insert("phase".to_owned(), phase.as_str().into());
    }
    if let Some(list) = conditions::set(&status.conditions, wanted(view, facts), now) {
        patch.insert("conditions".to_owned(), conditions::to_json(&list));
    }
    if let Some(stored) = &facts.stored
        && let Some(change) = merge::difference(&view.stored.0, &stored.0)
    {
        patch.insert("providerStatus".to_owned(), change);
    }
    if let Some(instance) = &facts.instance
        && *instance.addresses != *status.addresses
    {
        patch.insert("addresses".to_owned(), addresses(&instance.addresses));
    }
    if !facts.is_paused() {
        errors(view, facts, &mut patch);
    }
    if patch.is_empty() {
        return None;
    }
    // Who is in charge is no news about the machine. Where the schema drops it, nothing at all changes by this write.
    if facts.authority.is_none() || patch.len() > 1 {
        let now = conditions::whole_seconds(now);
        patch.insert("lastUpdated".to_owned(), json!(now.to_string()));
    }
    Some(Value::Object(patch))
}

/// The conditions that are to be there. Those of a machine that somebody else is in charge of are theirs, but one.
fn wanted(view: &View, facts: &Facts) -> Vec<Condition> {
    let mut wanted = Vec::new();
    wanted.extend(facts.paused.map(paused));
    if facts.authority.is_some() || facts.is_paused() {
        return wanted;
    }
    let hooks = &view.machine.hooks;
    wanted.push(unless_hooked(CONDITION_DRAINABLE, &hooks.pre_drain, "drained"));
    wanted.push(unless_hooked(CONDITION_TERMINABLE, &hooks.pre_terminate, "terminated"));
    wanted.extend(facts.instance_exists.clone());
    wanted.extend(facts.drained.clone());
    wanted.extend(facts.ready.clone());
    wanted
}

fn paused(paused: Paused) -> Condition {
    let text = match paused {
        Paused::No => {
            let text = "the Machine API is in charge of this machine";
            return Condition::no(CONDITION_PAUSED, SEVERITY_INFO, REASON_MACHINE_API, text);
        }
        Paused::Elsewhere => "another machine API is in charge of this machine",
        Paused::Unclear => TEXT_UNKNOWN_AUTHORITY,
    };
    Condition::yes(CONDITION_PAUSED).because(REASON_NOT_MACHINE_API, text)
}

fn unless_hooked(kind: &'static str, hooks: &[Hook], what: &str) -> Condition {
    if hooks.is_empty() {
        return Condition::yes(kind);
    }
    let names: Vec<_> =
        hooks.iter().map(|hook| format!("{} ({})", hook.name, hook.owner)).collect();
    let text = format!("the machine is not {what} while there are hooks: {}", names.join(", "));
    Condition::no(kind, SEVERITY_WARNING, REASON_HOOK_PRESENT, text)
}

fn addresses(list: &[Address]) -> Value {
    let one =
        |address: &Address| json!({"type": address.kind.as_str(), "address": &*address.address});
    list.iter().map(one).collect()
}

/// Why it failed for good, in both places where people look. Whatever has not failed says nothing there.
fn errors(view: &View, facts: &Facts, patch: &mut Map<String, Value>) {
    let status = &view.machine.status;
    let message = facts.fatal.as_ref().map(ToString::to_string);
    let (reason, message) = match (&facts.fatal, facts.phase) {
        (Some(fatal), _) => (fatal.error_reason(), message.as_deref()),
        // It failed before: what was said stays.
        (None, Some(Phase::Failed)) => {
            (status.error_reason.as_deref(), status.error_message.as_deref())
        }
        (None, _) => (None, None),
    };
    say(patch, "errorReason", status.error_reason.as_deref(), reason);
    say(patch, "errorMessage", status.error_message.as_deref(), message);
    let has_news = !patch.is_empty();
    let are_there = status.failure_reason.is_some() || status.failure_message.is_some();
    let fields = match view.rules.failure_fields {
        Field::Unknown => has_news || are_there,
        Field::Served => true,
        Field::Dropped => false,
    };
    if fields {
        say(patch, "failureReason", status.failure_reason.as_deref(), reason);
        say(patch, "failureMessage", status.failure_message.as_deref(), message);
    }
}

fn say(patch: &mut Map<String, Value>, name: &str, current: Option<&str>, wanted: Option<&str>) {
    if current != wanted {
        patch.insert(name.to_owned(), json!(wanted));
    }
}
