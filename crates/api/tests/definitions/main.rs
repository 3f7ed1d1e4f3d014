//! The CustomResourceDefinitions on a real API server.

#[cfg(test)]
mod event_recyclers;
#[cfg(test)]
mod openshift;
