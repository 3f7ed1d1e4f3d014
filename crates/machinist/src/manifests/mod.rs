//! YAML streams and JSON, in files, folders or on stdin. They are not trusted: errors have a position, nothing panics.

pub(crate) mod input;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod stream;
