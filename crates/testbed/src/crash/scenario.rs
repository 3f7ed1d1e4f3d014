use anyhow::Result;
use serde_json::Value;

use crate::World;
use crate::faults::{ApiRequest, Verb};

/// Can be run any number of times, each time in a fresh namespace.
pub trait Scenario: Send + Sync + 'static {
    /// Lower case with dashes: it becomes part of namespace names.
    fn name(&self) -> &str;

    /// Before the subject starts, such as a rule of the proxy that holds throughout.
    fn prepare(&self, world: &World) {
        let _ = world;
    }

    /// After each step wait until the subject has done its part, so that its writes are the same in every run.
    fn run(&self, world: &World) -> impl Future<Output = Result<()>> + Send;

    /// Normalised so that two good runs are equal ([`World::state_of`] does this for whole kinds).
    fn end_state(&self, world: &World) -> impl Future<Output = Result<Value>> + Send;

    /// Once the fault has struck: between death and restart where it is deadly, at once where it is not.
    fn meanwhile(&self, world: &World) -> impl Future<Output = Result<()>> + Send {
        let _ = world;
        std::future::ready(Ok(()))
    }

    /// Where the number of a write depends on timing, what exceeds this is no crash point: it might not come again.
    fn at_least(&self, request: &ApiRequest) -> u32 {
        let _ = request;
        u32::MAX
    }

    /// The same in every run. The default suits Events and objects whose names the scenario has chosen.
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
