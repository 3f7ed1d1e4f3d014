use machinist_controllers::orphans::Unchecked;
use machinist_domain::texts;

pub(super) const CANNOT_READ: &str = "cannot read the Machines and the cluster's id";
pub(super) const NO_TERMINAL: &str =
    "cannot ask for confirmation, because stdin is not a terminal; use --yes";
pub(super) const NOT_CONFIRMED: &str = "not confirmed; nothing was changed";
pub(super) const NOT_LISTED: &str = "it is not listed any more";
pub(super) const TIMED_OUT: &str =
    "still in progress at the end of --timeout; the same command continues it";

texts! {
    pub(super) fn none(cluster: &str) = "No orphans with the tags of cluster {cluster}";
    pub(super) fn nothing_to_delete(cluster: &str) =
        "No instance with the tags of cluster {cluster} may be deleted; without --delete, the command lists why";
    pub(super) fn unchecked(what: &str, why: &str) = "Unchecked: {what}: {why}";
    pub(super) fn question(count: usize) =
        "Terminate {count} of these instances: those with the reason Collectable";
    pub(super) fn not_deleted(count: usize, of: usize) = "{count} of {of} instances were not deleted";
}

pub(super) fn incomplete(unchecked: &[Unchecked]) -> String {
    match unchecked {
        [Unchecked { what, why }] => format!("not all instances were listed: {what}: {why}"),
        several => format!("not all instances were listed: {} unchecked", several.len()),
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let text = str::to_owned;
        let (what, why) = ("sim, sim-1, Secret ns/cloud", "Unauthorised: the account is closed");
        let one = Unchecked { what: text(what), why: text(why) };
        let stdout = [
            none("c"),
            nothing_to_delete("c"),
            unchecked(what, why),
            text(NOT_LISTED),
            text(TIMED_OUT),
        ];
        let stderr = [
            question(2),
            text(CANNOT_READ),
            text(NO_TERMINAL),
            text(NOT_CONFIRMED),
            not_deleted(1, 2),
            incomplete(std::slice::from_ref(&one)),
            incomplete(&[one.clone(), one]),
        ];
        let rows = stdout.into_iter().map(|text| ("stdout", "", text));
        let rows = rows.chain(stderr.into_iter().map(|text| ("stderr", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows.collect::<Vec<_>>()));
    }
}
