//! The recycler: sees in Events that nodes are bad, and recycles the node groups behind them.
//!
//! * [`recycling`]: recycles one node group, step by step.

pub mod recycling;
