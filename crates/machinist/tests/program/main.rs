//! The machinist binary as a process, against real API servers and moto.
//!
//! One test binary for all areas, because each one links the AWS SDK. Only `crash` is apart: `make crash` runs it in
//! full.

// Under `cfg(test)`, so that clippy allows helpers of tests to unwrap.
#[cfg(test)]
mod annotate;
#[cfg(test)]
mod convert;
#[cfg(test)]
mod ec2;
#[cfg(test)]
mod image;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod recycler;
#[cfg(test)]
mod termination;

/// The plain Kubernetes that most tests share, each in a namespace of its own. Its guard ends it with the tests.
#[cfg(test)]
async fn control_plane() -> anyhow::Result<&'static machinist_control_plane::ControlPlane> {
    static SHARED: tokio::sync::OnceCell<machinist_control_plane::ControlPlane> =
        tokio::sync::OnceCell::const_new();
    SHARED.get_or_try_init(machinist_testbed::cluster::control_plane).await
}
