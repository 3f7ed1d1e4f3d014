pub(super) mod cloud;
