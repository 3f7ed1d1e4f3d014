//! The machine controller: makes an instance for every Machine, watches over it, and removes it.

pub mod drain;
