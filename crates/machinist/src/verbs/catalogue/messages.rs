pub(super) fn no_match(patterns: &[&String]) -> String {
    let patterns: Vec<_> = patterns.iter().map(|pattern| format!("{pattern:?}")).collect();
    format!("no instance type matches {}", patterns.join(", "))
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let rows = [("stderr", "", no_match(&[&"m99".to_owned(), &"x*".to_owned()]))];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
