//! For tests only: moto and the AWS front, fault injection, the crash harness, builders.
