//! The right to change a cloud. It ends with the lease, also in the middle of a call that consists of several
//! requests, so it is checked directly before each request that changes something.
//!
//! The writer runs a call [`within`] a permit, as a tracing span or a task-local value accompanies a future. A provider
//! calls [`check`] where it sends requests, in one place, and no function between has to pass the permit on. Requests
//! that run in a task of their own have none: they must not change anything.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::messages;

/// How long changes are allowed. The clock counts suspend: a virtual machine that resumes may find that another
/// process leads.
#[derive(Clone)]
pub struct Permit(Arc<dyn Fn() -> Option<Duration> + Send + Sync>);

/// The permit has ended; nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired;

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(messages::PERMIT_EXPIRED)
    }
}

impl std::error::Error for Expired {}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

impl Permit {
    /// `time_left` reads the clock; `None` if nothing may be sent.
    pub fn new(time_left: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self(Arc::new(time_left))
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Permit>> = const { RefCell::new(None) };
}

/// Whether a request that changes something may be sent now. Without a permit, as in a command of one's own, it may.
pub fn check() -> Result<(), Expired> {
    let permit = CURRENT.with_borrow(Clone::clone);
    match permit.map(|permit| (permit.0)()) {
        Some(None) => Err(Expired),
        Some(Some(_)) | None => Ok(()),
    }
}

/// Runs `call` with this permit.
pub fn within<F: Future>(permit: Permit, call: F) -> Within<F> {
    Within { permit, call: Box::pin(call) }
}

/// See [`within`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Within<F> {
    permit: Permit,
    call: Pin<Box<F>>,
}

/// Restores the permit of the caller, also after a panic.
struct Restore(Option<Permit>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _restore = Restore(CURRENT.replace(Some(self.permit.clone())));
        self.call.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Waker;

    use super::*;

    fn poll<F: Future + Unpin>(call: &mut F) -> Poll<F::Output> {
        Pin::new(call).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Checks, waits once, and checks again.
    async fn two_requests() -> [Result<(), Expired>; 2] {
        let first = check();
        let mut waited = false;
        std::future::poll_fn(|_| {
            let done = std::mem::replace(&mut waited, true);
            if done { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;

        [first, check()]
    }

    #[test]
    fn permit_is_checked_before_each_request_and_belongs_to_one_call() {
        let expired = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&expired);
        let permit =
            Permit::new(move || (!seen.load(Ordering::Relaxed)).then_some(Duration::from_secs(1)));
        let mut call = within(permit.clone(), two_requests());
        assert_eq!(poll(&mut call), Poll::Pending);
        expired.store(true, Ordering::Relaxed);
        assert_eq!(check(), Ok(()), "this is not the call");
        let mut inner =
            within(Permit::new(|| Some(Duration::ZERO)), within(permit, two_requests()));
        assert_eq!(poll(&mut inner), Poll::Pending);
        assert_eq!(poll(&mut call), Poll::Ready([Ok(()), Err(Expired)]));
        assert_eq!(poll(&mut inner), Poll::Ready([Err(Expired), Err(Expired)]));
        assert_eq!(check(), Ok(()));
    }
}
