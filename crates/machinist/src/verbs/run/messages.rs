//! Errors of `machinist run`.

pub(crate) fn unknown_controller(name: &str, known: &[&str]) -> String {
    format!("--controllers: no controller {name:?}; valid names are all, {}", known.join(", "))
}

pub(crate) fn unknown_platform(name: &str, known: &[&str]) -> String {
    format!("--platform: no provider {name:?}; valid values are {}", known.join(", "))
}

pub(super) fn not_selected(name: &str) -> String {
    format!("--workers: controller {name:?} is not in --controllers")
}

pub(super) fn needs_nodes(name: &str) -> String {
    format!("--target-kubeconfig=none: controller {name} needs the cluster with the Nodes")
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
            not_selected("machine"),
            needs_nodes("machine"),
        ];
        let rows = rows.map(|text| ("stderr", "", text));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
