pub(super) mod cloud;
mod release;
