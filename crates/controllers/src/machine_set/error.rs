use std::fmt;

use super::messages;
use super::ordinals::WindowError;
use super::selector::SelectorError;
use crate::kinds::UnknownDeletePolicy;

/// What is invalid about a MachineSet. Nothing is done until it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Undecodable(String),
    Selector(SelectorError),
    /// The selector does not match the template, so the set would not own its Machines.
    SelectorMismatch {
        selector: String,
    },
    Replicas(i32),
    DeletePolicy(UnknownDeletePolicy),
    /// The stored ordinal window cannot be read, so the Machines in creation cannot be counted.
    Window(WindowError),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&messages::refusal(self))
    }
}
