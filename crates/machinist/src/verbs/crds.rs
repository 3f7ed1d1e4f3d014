//! `machinist crds`: the CustomResourceDefinitions for clusters other than OpenShift.

use crate::terminal::Printable;

pub(crate) fn main() -> anyhow::Result<()> {
    Ok(super::print(&Printable::data(yaml()?))?)
}

/// All definitions as one YAML stream.
pub fn yaml() -> anyhow::Result<String> {
    let mut text = String::new();
    for crd in machinist_api::crds() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd)?);
    }
    Ok(text)
}
