//! A reader of Rust source that is just good enough for the checks.
//!
//! It splits text into tokens and finds the paths in them (`use` groups expanded), so that a name inside a comment or a string is not
//! mistaken for code. Macros are not expanded and types are not resolved: a determined author can hide a call from it, an
//! honest mistake is found. A full parser would be the heaviest dependency of the workspace for the same answer.

mod paths;
mod tokens;

pub(crate) use paths::{CodePath, paths};
pub(crate) use tokens::{Kind, Token, tokens};
