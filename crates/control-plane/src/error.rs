//! What can go wrong with a control plane.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::binaries::{BuildError, NotFound};

/// A control plane could not be started or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program could not be had.
    #[error(transparent)]
    Binary(#[from] NotFound),
    /// OpenShift's definitions could not be had.
    #[error("cannot get OpenShift's definitions with Go: {0}")]
    OpenShift(#[source] BuildError),
    /// A file or folder could not be used.
    #[error("cannot {what} {path}")]
    File {
        /// What was tried, as a verb.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {program}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program ended by itself.
    #[error("{name} ended by itself ({status}); the end of its log:\n{log}")]
    Exited {
        /// Its name.
        name: &'static str,
        /// How it ended.
        status: String,
        /// The last lines that it printed.
        log: String,
    },
    /// A program is running but does not answer as it should.
    #[error("{name} is not ready after {} s ({last}); the end of its log:\n{log}", after.as_secs())]
    NotReady {
        /// Its name.
        name: &'static str,
        /// How long it was waited for.
        after: Duration,
        /// What the last probe said.
        last: String,
        /// The last lines that it printed.
        log: String,
    },
    /// No free port on the loopback interface.
    #[error("no free port on 127.0.0.1 after {tries} tries")]
    NoPort {
        /// How many ports were tried.
        tries: u32,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// Our own kubeconfig was not understood.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The API server answered with an error, or not at all.
    #[error("{what}")]
    Api {
        /// What was being done.
        what: String,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// The API server gave no token for a service account.
    #[error("no token for service account {namespace}/{name}")]
    NoToken {
        /// The account's namespace.
        namespace: String,
        /// The account's name.
        name: String,
    },
    /// A manifest is not a list of `CustomResourceDefinitions`.
    #[error("document {index} is not a CustomResourceDefinition: {reason}")]
    Manifest {
        /// Which document, counted from 1.
        index: usize,
        /// What is wrong.
        reason: String,
    },
    /// A `CustomResourceDefinition` is not served in time.
    #[error("{name} is not established after {} s", after.as_secs())]
    NotEstablished {
        /// The definition's name.
        name: String,
        /// How long it was waited for.
        after: Duration,
    },
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }

    pub(crate) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api { what, source: Box::new(source) }
    }
}
