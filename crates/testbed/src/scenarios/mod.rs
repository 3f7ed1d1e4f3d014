//! Scenarios that several test suites run, in a process of the test's own and with the real binary.

mod aws_scaling;
mod family;
mod freezing;
mod in_place;
mod machines;
mod pods;
mod preserving;
mod remediating;
mod rolling;
mod scaling;

pub use aws_scaling::AwsScaling;
pub use freezing::Freezing;
pub use in_place::InPlace;
pub use preserving::Preserving;
pub use remediating::Remediating;
pub use rolling::Rolling;
pub use scaling::Scaling;
