//! The spec half for AWS and the built-in instance-type table. No SDK.
