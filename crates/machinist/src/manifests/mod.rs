//! Manifests as people keep them: YAML streams and JSON, in files, folders or on stdin.
//!
//! [`input`] reads them, [`stream`] cuts a text into documents without changing a byte, [`node`] is a document's value with its order kept,
//! and [`layout`] says where in the text each part of it stands, so that a small change can be made without touching the rest.
//!
//! Everything here is hostile input: errors say where, nothing panics.

pub(crate) mod input;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod stream;
