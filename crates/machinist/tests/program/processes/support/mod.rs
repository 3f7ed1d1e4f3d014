//! What the tests stand on: a [`process`] that runs the binary, a [`scene`] with a namespace to run it in,
//! [`replica`]s that have a proxy each, an [`installation`] of the manifests and what its account may [`access`],
//! kinds of [`openshift`], a [`go_program`], a tiny [`http`] client, and [`time`] limits.

pub(crate) mod access;
pub(crate) mod go_program;
pub(crate) mod http;
pub(crate) mod installation;
pub(crate) mod openshift;
pub(crate) mod process;
pub(crate) mod replica;
pub(crate) mod scene;
pub(crate) mod time;
