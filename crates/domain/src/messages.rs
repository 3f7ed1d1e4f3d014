//! Texts that several controllers share.

use std::any::type_name;
use std::time::Duration;

use crate::machine::MachineAuthority;

/// Why an object with another `authoritativeAPI` than OpenShift's two machine APIs is left alone.
const UNKNOWN_AUTHORITY: &str = "authoritativeAPI of the status, or of the spec where the \
    status has none, is neither MachineAPI nor ClusterAPI; the object is left alone until it is";

pub(crate) const PERMIT_EXPIRED: &str =
    "not sent: this process does not hold the Lease any more, or had too little time left";

/// The condition `Paused`. The wording is OpenShift's.
pub fn authority(authority: MachineAuthority) -> String {
    match authority.as_str() {
        Some(api) => format!("The AuthoritativeAPI is set to {api}"),
        None => UNKNOWN_AUTHORITY.to_owned(),
    }
}

/// Begins an error text of a provider or the API server as conditions do. Field paths and identifiers stay as they are.
pub fn capitalized(text: &str) -> String {
    let first = text.split(|c: char| !c.is_alphanumeric() && !"._-/".contains(c)).next();
    let is_word = first.is_some_and(|word| word.chars().all(|c| c.is_ascii_lowercase()));
    let mut letters = text.chars();
    match letters.next() {
        Some(letter) if is_word => letter.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// An error of serde without the names of Rust's types.
pub fn without_rust_types(error: &str) -> String {
    let names = [
        type_name::<i32>(),
        type_name::<i64>(),
        type_name::<u8>(),
        type_name::<u16>(),
        type_name::<u32>(),
        type_name::<u64>(),
    ];
    names.iter().fold(error.to_owned(), |text, name| {
        text.replace(&format!("expected {name}"), "expected a whole number")
    })
}

/// A duration such as `90s`, `10m` or `2h`.
pub fn span(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{time:?}"),
        seconds if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        seconds if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_table::message_table;

    #[test]
    fn capitalizes_words_but_not_field_paths() {
        assert_eq!(capitalized("subnet s-1 is full"), "Subnet s-1 is full");
        assert_eq!(capitalized("ami.id: is required"), "ami.id: is required");
        assert_eq!(capitalized("i-123 is gone"), "i-123 is gone");
        assert_eq!(capitalized("EC2 refused"), "EC2 refused");
        assert_eq!(capitalized(""), "");
    }

    #[test]
    fn errors_name_no_rust_types() {
        let error = serde_json::from_str::<i32>("\"x\"").unwrap_err().to_string();
        let expected = "invalid type: string \"x\", expected a whole number at line 1 column 3";
        assert_eq!(without_rust_types(&error), expected);
        let error = serde_json::from_str::<u32>("-1").unwrap_err().to_string();
        assert!(without_rust_types(&error).contains("expected a whole number"), "{error}");
    }

    #[test]
    fn messages() {
        let rows = [
            ("condition Paused=True", "", UNKNOWN_AUTHORITY.to_owned()),
            ("cloud call", "", PERMIT_EXPIRED.to_owned()),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
