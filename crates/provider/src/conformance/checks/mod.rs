//! The checks by name. To add one, write a function in the file of its subject and add it to [`CHECKS`].

mod creation;
mod deletion;
mod errors;
mod hot_fields;
mod looking;
mod specs;

use super::scene::{Checked, Scene};
use crate::Pending;

type Check = for<'a> fn(&'a Scene<'a>) -> Pending<'a, Checked>;

macro_rules! checks {
    ($($module:ident::$name:ident),* $(,)?) => {
        &[$((stringify!($name), |scene| Box::pin($module::$name(scene)))),*]
    };
}

pub(super) const CHECKS: &[(&str, Check)] = checks![
    specs::the_spec_half_reads_its_own_kind_and_nothing_else,
    creation::preparing_makes_nothing_and_names_its_attempt,
    creation::what_was_prepared_is_what_is_made,
    creation::what_was_not_prepared_is_not_made,
    creation::creating_twice_makes_one,
    creation::creating_at_the_same_time_makes_one,
    creation::a_lost_answer_and_another_try_make_one,
    creation::an_instance_says_whose_it_is,
    looking::an_instance_comes_to_run_under_one_name,
    looking::many_are_described_in_order_and_together_with_unknown_ones,
    looking::what_is_not_shown_yet_is_not_absent,
    looking::lists_are_followed_to_the_last_page,
    looking::drift_is_seen_and_repaired,
    hot_fields::a_hot_field_is_applied_to_a_living_instance,
    deletion::deleting_takes_everything_and_may_be_repeated,
    deletion::what_never_was_is_gone,
    deletion::what_was_lost_and_is_not_shown_yet_is_deleted_all_the_same,
    deletion::what_was_made_and_is_not_shown_yet_is_deleted_all_the_same,
    deletion::only_the_machines_own_instance_goes,
    deletion::an_orphan_is_deleted_alone_and_only_if_its_tags_are_the_same,
    errors::an_impossible_spec_is_invalid_for_good,
    errors::no_room_is_told_as_such_and_passes,
    errors::throttling_is_told_as_such_and_concerns_all_alike,
    errors::missing_rights_are_told_as_such,
    errors::an_outage_leaves_everything_open,
    errors::nonsense_is_no_answer,
    errors::what_is_not_there_is_not_found,
    errors::nothing_is_changed_without_a_permit,
];
