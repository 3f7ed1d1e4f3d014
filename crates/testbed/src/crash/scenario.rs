//! What a user does while the subject runs, and what must come out of it.

use anyhow::Result;
use serde_json::Value;

use crate::World;
use crate::faults::{ApiRequest, Verb};

/// Steps that can be run any number of times, each time in a fresh namespace.
pub trait Scenario: Send + Sync + 'static {
    /// A short name in lower case with dashes; it becomes part of namespace names.
    fn name(&self) -> &str;

    /// How the world is set up before the subject starts, such as a rule of its proxy that holds throughout.
    fn prepare(&self, world: &World) {
        let _ = world;
    }

    /// The steps, by an undisturbed user ([`World::client`]). After each step wait with
    /// [`World::eventually`] until the subject has done its part: this is what makes the subject's writes
    /// the same in every run.
    fn run(&self, world: &World) -> impl Future<Output = Result<()>> + Send;

    /// Everything that matters in the end, normalised so that two good runs are equal
    /// ([`World::state_of`] does this for whole kinds).
    fn end_state(&self, world: &World) -> impl Future<Output = Result<Value>> + Send;

    /// What changes in the world once the fault has struck: between death and restart where it is deadly, at once
    /// where it is not. The subject must cope with a world that is not the one in which it began.
    fn meanwhile(&self, world: &World) -> impl Future<Output = Result<()>> + Send {
        let _ = world;
        std::future::ready(Ok(()))
    }

    /// How often a write of this name is made in every run at least. Where the number depends on who is faster, as
    /// with a status that is written once for several changes, what goes beyond it is no crash point: it could not be
    /// found again.
    fn at_least(&self, request: &ApiRequest) -> u32 {
        let _ = request;
        u32::MAX
    }

    /// A name for the object of a write that is the same in every run, whatever the order of
    /// parallel workers. The default suits objects whose names the scenario has chosen, and Events.
    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.as_deref().unwrap_or_default();
        match name.rsplit_once('.') {
            // A repeated Event is patched under its own name, which ends in random digits.
            Some((about, _)) if request.resource == "events" && request.verb != Verb::Create => {
                about.to_owned()
            }
            _ => name.to_owned(),
        }
    }
}
