use machinist_domain::texts;

pub(crate) const NEEDS_METRICS_SECURE: &str = "--metrics-cert-dir needs --metrics-secure";

texts! {
    pub(crate) fn unknown_controller(name: &str, known: &[&str]) =
        "--controllers: no controller {name:?}; valid names are all, {}", known.join(", ");
    pub(crate) fn unknown_platform(name: &str, known: &[&str]) =
        "--platform: no provider {name:?}; valid values are {}", known.join(", ");
    pub(super) fn not_selected(name: &str) = "--workers: controller {name:?} is not in --controllers";
    pub(super) fn too_many_workers(name: &str, count: usize, most: usize) =
        "--workers: controller {name} has limits that hold only with up to {most} (got {count})";
    pub(super) fn needs_nodes(name: &str) =
        "--target-kubeconfig=none: controller {name} needs the cluster with the Nodes";
    pub(super) fn needs_provider(name: &str) =
        "--controllers: {name} needs a provider, which this binary lacks; build it with the feature aws, or set \
         --platform=none";
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let rows = [
            unknown_controller("foo", &["annotator", "machine"]),
            unknown_platform("asw", &["auto", "aws", "none", "sim"]),
            NEEDS_METRICS_SECURE.to_owned(),
            not_selected("machine"),
            too_many_workers("healthcheck", 4, 1),
            needs_nodes("machine"),
            needs_provider("machine"),
        ];
        let rows = rows.map(|text| ("stderr", "", text));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
