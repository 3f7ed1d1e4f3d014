//! What the tests stand on: a [`process`] that runs the binary, a [`world`] with a namespace to run it in,
//! [`replica`]s that have a proxy each, an [`installation`] of the manifests and what its account may [`access`],
//! kinds of [`openshift`], a [`go_program`], and [`time`] limits.

pub(crate) mod access;
pub(crate) mod go_program;
pub(crate) mod installation;
pub(crate) mod openshift;
pub(crate) mod process;
pub(crate) mod replica;
pub(crate) mod time;
pub(crate) mod world;
