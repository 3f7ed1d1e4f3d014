//! Generates the catalogue's file from EC2 (`make catalogue`), with region, credentials and endpoint of the
//! environment.

use machinist_aws_spec::catalogue;

use crate::aws::listed_types;

const REGION: &str = "us-east-1";

pub(super) fn text() -> anyhow::Result<String> {
    let region =
        ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    let listed = listed_types(region.as_deref().unwrap_or(REGION))?;
    Ok(catalogue::write(&listed))
}
