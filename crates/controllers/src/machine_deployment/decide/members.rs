//! The Machines of a set in numbers, and which of them are marked for deletion. Pure.

use std::sync::Arc;

use jiff::Timestamp;

use super::super::snapshot::{Member, SetView, View};
use super::scaling::{Apart, Numbers, Preserved, Role};
use super::{DEFAULT_REPLICAS, min_ready};
use crate::kinds::Machine;

pub(in super::super) fn is_available(member: &Member, view: &View, now: Timestamp) -> bool {
    member.available_at(min_ready(view)).is_some_and(|at| at < now)
}

/// `spec.replicas` of a set.
pub(super) fn size(one: &SetView) -> usize {
    let replicas = one.set.state.spec.replicas.unwrap_or(DEFAULT_REPLICAS);
    usize::try_from(replicas).unwrap_or(0)
}

pub(super) fn numbers(one: &SetView, view: &View, role: Role, now: Timestamp) -> Apart {
    let is_kept = |member: &Member| member.preserved(now).is_some();
    let is_apart = |member: &Member| role != Role::Members && is_kept(member);
    let (apart, others): (Vec<_>, Vec<_>) = one.members.iter().partition(|member| is_apart(member));
    let available = |member: &Member| is_available(member, view, now);
    let count =
        |test: &dyn Fn(&Member) -> bool| others.iter().filter(|member| test(member)).count();
    let marked = |member: &Member| member.is_marked() && !is_kept(member);
    let serving = apart.iter().filter(|member| available(member)).count();
    let numbers = Numbers {
        desired: size(one),
        members: one.members.len(),
        open: one.open,
        leaving: one.leaving,
        late: one.late.map(|late| (late.least, late.most)),
        available: count(&|member| !member.is_marked() && available(member)),
        first: count(&|member| member.goes_first() && !is_kept(member)),
        marked: count(&marked),
        marked_available: count(&|member| marked(member) && available(member)),
        markable: count(&|member| is_markable(member, view, now)),
        recovered: count(&|member| is_recovered(member, view, now)),
        deleting: one.set.meta.deleting,
        aborted: one.set.state.is_aborted(),
        exact: view.listed,
    };
    let preserved = Preserved { available: serving, others: apart.len() - serving };
    // Nothing of a set that is being deleted stays.
    let preserved = if one.set.meta.deleting { Preserved::default() } else { preserved };
    numbers.without(preserved, role == Role::Replicas)
}

fn is_markable(member: &Member, view: &View, now: Timestamp) -> bool {
    let known = member.machine.as_ref().is_some_and(|one| !view.refused.has(&one.meta));
    let deletable = known && member.preserved(now).is_none();
    deletable && !member.is_marked() && !member.has_failed() && !is_available(member, view, now)
}

/// Whether only our mark keeps it from being available.
fn is_recovered(member: &Member, view: &View, now: Timestamp) -> bool {
    let is_refused = |one: &Arc<Machine>| view.refused.has(&one.meta);
    let is_refused = member.machine.as_ref().is_some_and(is_refused);
    let deletable = !is_refused && member.preserved(now).is_none();
    deletable && member.is_marked_by_us() && is_available(member, view, now)
}

pub(super) fn recovered(one: &SetView, view: &View, now: Timestamp) -> Vec<Arc<Machine>> {
    let members = one.members.iter().filter(|member| is_recovered(member, view, now));
    members.filter_map(|member| member.machine.clone()).collect()
}

/// Those without a Node first.
pub(super) fn markable(
    one: &SetView,
    count: usize,
    view: &View,
    now: Timestamp,
) -> Vec<Arc<Machine>> {
    let members = one.members.iter().filter(|member| is_markable(member, view, now));
    let mut machines: Vec<_> = members.filter_map(|member| member.machine.clone()).collect();
    machines.sort_by_key(|one| (one.status.node_ref.is_some(), one.meta.key.clone()));
    machines.truncate(count);
    machines
}
