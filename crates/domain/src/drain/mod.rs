//! The rules of draining a node: which pods go, which stay, how a refused eviction is tried again, and how far a drain has come.
//!
//! * [`pod`]: what a drain needs to know of a pod; [`fate`]: what becomes of it.
//! * [`attempt`]: a refused eviction and when it is tried again; [`blockers`]: what stands in the way, in one sentence.
//! * [`mark`]: what is written on the Node when its drain begins; [`step`]: how far a drain is, as the condition `Drained` says it.
//!
//! Input: plain data. Output: plain data. How pods are listed and evicted is not here, nor when which step is taken: that is the
//! business of the machine controller.

pub mod attempt;
pub mod blockers;
pub mod fate;
pub mod mark;
pub mod pod;
pub mod step;

pub use attempt::Attempt;
pub use fate::{Circumstances, Fate};
pub use mark::Mark;
pub use pod::{Pod, Termination};
pub use step::Step;
