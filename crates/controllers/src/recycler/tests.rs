//! What tests share that carry plans out.

pub(super) mod cloud;
