//! Manifests: YAML streams and JSON, in files, folders or on stdin.
//!
//! [`input`] reads them, [`stream`] splits a text into documents, [`node`] is the value of a document with the order
//! of its keys, and [`layout`] has the positions of its parts, for edits in place.
//!
//! The input is not trusted: errors have a position, nothing panics.

pub(crate) mod input;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod stream;
