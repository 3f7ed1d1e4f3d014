//! The catalogue's own file, made anew from what EC2 lists (`make catalogue`).
//!
//! In: the region of the environment, and credentials and endpoint as the AWS tools find them. Out: the file's text. Nothing is written here.

use machinist_aws_spec::catalogue;

use crate::aws::listed_types;

const REGION: &str = "us-east-1";

/// The text of the file.
pub(super) fn text() -> anyhow::Result<String> {
    let region =
        ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    let listed = listed_types(region.as_deref().unwrap_or(REGION))?;
    Ok(catalogue::write(&listed))
}
