//! Ordinals and names of a MachineSet's Machines. Both are stored in clusters: neither may change its meaning.
//!
//! The *window* (`from..next`) is stored on the MachineSet before the first of its ordinals is used. An ordinal whose
//! Machine is missing is *open*: it may be used again, because a repeated create of its name returns AlreadyExists.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use machinist_domain::hash::fnv1a;
use machinist_domain::key::Uid;

use super::messages;

/// The widest window, which bounds the creations in progress.
const WIDEST: u64 = 4096;

/// The length of a DNS label, because instances and Nodes are often named after Machines.
const LONGEST_NAME: usize = 63;
const LETTERS: usize = 4;
/// Neither vowels, which form words, nor characters that look alike.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Ordinals whose children may be in creation: from the first up to the next unused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    from: u64,
    next: u64,
}

/// A stored window that cannot be parsed, maybe written by a later version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", messages::not_a_window(.0))]
pub struct WindowError(String);

impl Window {
    /// The ordinals in the window.
    pub fn ordinals(self) -> Range<u64> {
        self.from..self.next
    }

    /// Whether the window is empty.
    pub fn is_closed(self) -> bool {
        self.from == self.next
    }

    /// The same window without its ordinals, for use when no child is in creation.
    #[must_use]
    pub fn closed(self) -> Self {
        Self { from: self.next, next: self.next }
    }

    /// Up to `more` new ordinals, without those below `first_kept`. If nothing is kept, they are also above `highest`,
    /// that of an existing child: the stored window may have been removed.
    #[must_use]
    pub fn advanced(self, more: u64, first_kept: Option<u64>, highest: Option<u64>) -> Self {
        let above = highest.map_or(0, |highest| highest.saturating_add(1));
        let (from, next) = match first_kept {
            Some(first) => (first, self.next),
            None => (self.next.max(above), self.next.max(above)),
        };
        let widest = from.saturating_add(WIDEST);
        Self { from, next: next.saturating_add(more).min(widest).max(next) }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.next)
    }
}

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let window = text.split_once("..").and_then(|(from, next)| {
            let window = Self { from: number(from)?, next: number(next)? };
            let width = window.next.checked_sub(window.from)?;
            (width <= WIDEST).then_some(window)
        });
        window.ok_or_else(|| WindowError(text.to_owned()))
    }
}

/// The name of the child: `<parent>-<letters>-<ordinal>`. A long name of the parent is truncated.
pub(crate) fn name(parent: &str, uid: &Uid, ordinal: u64) -> String {
    let tail = format!("-{}-{ordinal}", letters(uid));
    let room = LONGEST_NAME.saturating_sub(tail.len()).min(parent.len());
    // Names are ASCII; `get` avoids a panic if they are not.
    let head = parent.get(..room).unwrap_or_default();
    let mut name = head.trim_end_matches(|last: char| !last.is_ascii_alphanumeric()).to_owned();
    name.push_str(&tail);
    name
}

/// The ordinal in a child's name, if it has one.
pub(super) fn ordinal(parent: &str, uid: &Uid, child: &str) -> Option<u64> {
    let (_, digits) = child.rsplit_once('-')?;
    let ordinal = number(digits)?;
    (name(parent, uid, ordinal) == child).then_some(ordinal)
}

fn number(digits: &str) -> Option<u64> {
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

/// Letters that distinguish parents of the same name: a recreated object has another uid.
fn letters(uid: &Uid) -> String {
    let mut hash = fnv1a(uid.0.as_bytes());
    let base = ALPHABET.len() as u64;
    let letters = (0..LETTERS).filter_map(|_| {
        let letter = usize::try_from(hash % base).ok().and_then(|at| ALPHABET.get(at));
        hash /= base;
        letter.copied().map(char::from)
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn uid(text: &str) -> Uid {
        Uid(text.into())
    }

    fn window(text: &str) -> Window {
        text.parse().unwrap()
    }

    /// Names are stored: the values are pinned.
    #[test]
    fn names_never_change() {
        let uid = uid("6a7b41c9-8f3e-4a2b-9d57-0c1f2e3d4b5a");
        assert_eq!(name("workers", &uid, 0), "workers-ps8j-0");
        assert_eq!(name("workers", &uid, 1234), "workers-ps8j-1234");
    }

    #[test]
    fn rejects_unknown_forms() {
        for text in [
            "",
            "3",
            "3..",
            "..3",
            "4..3",
            "03..4",
            "v2 3..4",
            "3..4 ",
            "+3..4",
            "-1..4",
            "0..18446744073709551615",
        ] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
        assert_eq!(window("3..7").ordinals(), 3..7);
    }

    #[test]
    fn window_only_grows_and_drops_what_is_done() {
        let none = Window::default();
        assert_eq!(none.advanced(5, None, None), window("0..5"));
        assert_eq!(window("0..5").advanced(2, None, None), window("5..7"));
        assert_eq!(window("0..5").advanced(2, Some(3), None), window("3..7"));
        assert_eq!(window("0..5").closed(), window("5..5"));
        assert_eq!(none.advanced(1_000_000, None, None), window("0..4096"));
        assert_eq!(window("0..4096").advanced(10, Some(0), None), window("0..4096"));
    }

    #[test]
    fn lost_window_does_not_reuse_ordinals_of_existing_children() {
        assert_eq!(Window::default().advanced(2, None, Some(41)), window("42..44"));
        assert_eq!(window("50..50").advanced(2, None, Some(41)), window("50..52"));
    }

    fn is_label(name: &str) -> bool {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        name.len() <= 63
            && name.chars().all(inner)
            && !name.starts_with('-')
            && !name.ends_with('-')
    }

    proptest! {
        #[test]
        fn windows_survive_a_round_trip(from in any::<u32>(), width in 0..=WIDEST) {
            let window = Window { from: u64::from(from), next: u64::from(from) + width };
            prop_assert_eq!(window.to_string().parse(), Ok(window));
        }

        #[test]
        fn different_numbers_have_different_names(
            set in "[a-z]([-a-z0-9]{0,80}[a-z0-9])?",
            a in any::<u64>(),
            b in any::<u64>(),
        ) {
            let uid = uid("1");
            prop_assert_eq!(a == b, name(&set, &uid, a) == name(&set, &uid, b));
        }

        #[test]
        fn names_are_dns_labels_and_contain_the_ordinal(
            set in "[a-z]([-a-z0-9]{0,80}[a-z0-9])?",
            id in "[-0-9a-f]{1,36}",
            n in any::<u64>(),
        ) {
            let uid = uid(&id);
            let name = name(&set, &uid, n);
            prop_assert!(is_label(&name), "{}", name);
            prop_assert_eq!(ordinal(&set, &uid, &name), Some(n));
        }

        #[test]
        fn a_parent_with_dots_has_children_with_valid_names(
            set in "[a-z](\\.[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?){0,5}",
            n in any::<u64>(),
        ) {
            let name = name(&set, &uid("1"), n);
            prop_assert!(name.len() <= 63 && name.split('.').all(is_label), "{}", name);
        }

        #[test]
        fn a_foreign_name_has_no_number_of_ours(child in "[-a-z0-9]{0,20}") {
            if let Some(n) = ordinal("workers", &uid("1"), &child) {
                prop_assert_eq!(name("workers", &uid("1"), n), child);
            }
        }
    }
}
