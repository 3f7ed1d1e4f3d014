//! Stories that several test suites tell, in a process of the test's own and with the real binary.

mod scaling;

pub use scaling::Scaling;
