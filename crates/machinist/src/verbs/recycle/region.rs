//! The AWS region: from the flag, else the environment, else the zones of the Nodes.

use anyhow::bail;
use machinist_aws_spec::provider_id;

use super::messages;
use crate::exit::Usage;
use crate::recycler;

/// The region of the flag or of the environment.
pub(super) fn named(flag: Option<&str>) -> Option<String> {
    flag.map(str::to_owned).or_else(|| recycler::region().map(|region| region.to_string()))
}

/// The same, or a usage error.
pub(super) fn required(flag: Option<&str>) -> anyhow::Result<String> {
    named(flag).ok_or_else(|| anyhow::anyhow!(messages::NO_REGION).context(Usage))
}

/// The one region of these provider IDs.
pub(super) fn of_nodes<'a>(provider_ids: impl Iterator<Item = &'a str>) -> anyhow::Result<String> {
    let mut regions: Vec<_> = provider_ids.filter_map(provider_id::region_of).collect();
    regions.sort_unstable();
    regions.dedup();
    match regions.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => required(None),
        several => bail!(messages::several_regions(several)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_must_be_in_one_region() {
        let one = ["aws:///eu-west-1a/i-1", "aws:///eu-west-1b/i-2", "aws:///i-3"];
        assert_eq!(of_nodes(one.into_iter()).unwrap(), "eu-west-1");
        let two = ["aws:///eu-west-1a/i-1", "aws:///eu-west-2a/i-2"];
        let error = of_nodes(two.into_iter()).unwrap_err();
        assert!(error.to_string().contains("eu-west-1, eu-west-2"), "{error}");
    }
}
