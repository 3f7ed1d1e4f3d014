//! One folder per controller, the same files in each.
