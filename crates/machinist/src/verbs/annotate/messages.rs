use machinist_domain::texts;

use machinist_provider::spec::SpecError;

texts! {
    pub(super) fn foreign_spec(error: &SpecError) = "not changed: {error}";
    pub(super) fn unknown_type(name: &str) = "instance type {name:?} is unknown; not changed";
    pub(super) fn kept(annotation: &str) =
        "{annotation} was set by hand and is kept; --overwrite replaces it";
    pub(super) fn wrong_architecture(name: &str) =
        "kubernetes.io/arch={name} in the capacity labels was wrong and is replaced";
    pub(super) fn unknown_types(count: usize, from_ec2: bool) =
        "objects with an unknown instance type, not changed: {count}{}",
        if from_ec2 { "" } else { "; see machinist catalogue, or use --source ec2" };
}

pub(super) fn unreadable(count: usize) -> String {
    let documents = if count == 1 { "document" } else { "documents" };
    format!("{count} {documents} cannot be read (see above); nothing was printed")
}

pub(super) const OF_DEPLOYMENT: &str = "its MachineDeployment is annotated instead; not changed";
pub(super) const NOT_MAPS: &str = "metadata and metadata.annotations must be maps";

#[cfg(test)]
mod tests {
    use machinist_aws_spec::AwsSpecs;
    use machinist_domain::message_table::message_table;
    use machinist_provider::spec::SpecHalf as _;

    use super::*;

    #[test]
    fn messages() {
        let known = AwsSpecs.kinds().to_vec();
        let foreign = SpecError::ForeignKind { kind: "AzureMachineProviderSpec".to_owned(), known };
        let rows = [
            foreign_spec(&foreign),
            unknown_type("m99.mega"),
            kept("capacity.cluster-autoscaler.kubernetes.io/cpu"),
            wrong_architecture("arm64"),
            OF_DEPLOYMENT.to_owned(),
            NOT_MAPS.to_owned(),
            unreadable(2),
            unknown_types(3, false),
            unknown_types(3, true),
        ];
        let rows = rows.map(|text| ("stderr", "", text));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
