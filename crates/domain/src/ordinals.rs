//! Numbers for children: which may be in the making, and what a child of a given number is called.
//!
//! A parent gives every child a number that was never given before. The numbers that were given out but of which it is not known whether their child
//! exists are a *window*, stored on the parent (`from..next`) before the first of them is used. A number of the window whose child is missing is
//! *open*: it may be used (again), and that is safe, because the child's name follows from the parent's uid and the number, so a second attempt meets
//! the first one's child.
//!
//! Names and the window's form are stored in clusters: neither may ever change its meaning.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::hash::fnv1a;
use crate::key::Uid;

/// The widest window: more children than this are not begun at once.
pub const WIDEST: u64 = 4096;

/// The longest name: that of a DNS label, because instances and nodes are often named after machines.
const LONGEST_NAME: usize = 63;
/// How many letters of a name come from the parent's uid.
const LETTERS: usize = 4;
/// No vowels, so that no words appear; no characters that look like others.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Numbers that were given out and whose children may be in the making: from the first, up to the next that will be given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    from: u64,
    next: u64,
}

/// A stored window that we do not understand, maybe because a later machinist wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no window of ordinals of the form from..next")]
pub struct WindowError(String);

impl Window {
    /// The numbers in it.
    pub fn ordinals(self) -> Range<u64> {
        self.from..self.next
    }

    /// Whether no number is in it.
    pub fn is_closed(self) -> bool {
        self.from == self.next
    }

    /// The same without its numbers: none of their children is in the making.
    #[must_use]
    pub fn closed(self) -> Self {
        Self { from: self.next, next: self.next }
    }

    /// A window with up to `more` new numbers, above everything that was given out; numbers below `first_open` leave it. It gets no wider than
    /// [`WIDEST`]. Where nothing is open the new numbers are also above `highest`, the highest number of a child that is seen: somebody may have
    /// removed the stored window.
    #[must_use]
    pub fn advanced(self, more: u64, first_open: Option<u64>, highest: Option<u64>) -> Self {
        let above = highest.map_or(0, |highest| highest.saturating_add(1));
        let (from, next) = match first_open {
            Some(open) => (open, self.next),
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

/// The name of a parent's child with this number: `<parent>-<letters>-<ordinal>`.
///
/// Different numbers give different names, because the number follows the last `-`. A long name of the parent is cut.
pub fn name(parent: &str, uid: &Uid, ordinal: u64) -> String {
    let tail = format!("-{}-{ordinal}", letters(uid));
    let room = LONGEST_NAME.saturating_sub(tail.len()).min(parent.len());
    // Names are ASCII; `get` is for the day that they are not.
    let head = parent.get(..room).unwrap_or_default();
    let mut name = head.trim_end_matches(|last: char| !last.is_ascii_alphanumeric()).to_owned();
    name.push_str(&tail);
    name
}

/// The number of a parent's child with this name, if it can be one.
pub fn ordinal(parent: &str, uid: &Uid, child: &str) -> Option<u64> {
    let (_, digits) = child.rsplit_once('-')?;
    let ordinal = number(digits)?;
    (name(parent, uid, ordinal) == child).then_some(ordinal)
}

/// A number as we print it, and in no other form.
fn number(digits: &str) -> Option<u64> {
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

/// A few letters that tell parents of the same name apart: an object that is deleted and made again has another uid.
fn letters(uid: &Uid) -> String {
    let mut hash = fnv1a(uid.0.as_bytes());
    let base = ALPHABET.len() as u64;
    let mut letters = String::with_capacity(LETTERS);
    for _ in 0..LETTERS {
        let letter = usize::try_from(hash % base).ok().and_then(|at| ALPHABET.get(at));
        letters.extend(letter.copied().map(char::from));
        hash /= base;
    }
    letters
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

    /// A stored name must never be computed differently: pinned.
    #[test]
    fn names_never_change() {
        let uid = uid("6a7b41c9-8f3e-4a2b-9d57-0c1f2e3d4b5a");
        assert_eq!(name("workers", &uid, 0), "workers-ps8j-0");
        assert_eq!(name("workers", &uid, 1234), "workers-ps8j-1234");
    }

    #[test]
    fn forms_that_we_do_not_know_are_not_guessed() {
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
    fn a_window_only_grows_and_leaves_behind_what_is_done() {
        let none = Window::default();
        assert_eq!(none.advanced(5, None, None), window("0..5"));
        assert_eq!(window("0..5").advanced(2, None, None), window("5..7"));
        assert_eq!(window("0..5").advanced(2, Some(3), None), window("3..7"));
        assert_eq!(window("0..5").closed(), window("5..5"));
        assert_eq!(none.advanced(1_000_000, None, None), window("0..4096"));
        assert_eq!(window("0..4096").advanced(10, Some(0), None), window("0..4096"));
    }

    #[test]
    fn a_lost_window_does_not_give_out_numbers_of_children_that_are_seen() {
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
        fn windows_are_read_as_they_are_printed(from in any::<u32>(), width in 0..=WIDEST) {
            let window = Window { from: u64::from(from), next: u64::from(from) + width };
            prop_assert_eq!(window.to_string().parse(), Ok(window));
        }

        #[test]
        fn different_numbers_have_different_names(set in "[a-z]([-a-z0-9]{0,80}[a-z0-9])?", a in any::<u64>(), b in any::<u64>()) {
            let uid = uid("1");
            prop_assert_eq!(a == b, name(&set, &uid, a) == name(&set, &uid, b));
        }

        #[test]
        fn a_name_is_a_dns_label_and_tells_its_number(set in "[a-z]([-a-z0-9]{0,80}[a-z0-9])?", id in "[-0-9a-f]{1,36}", n in any::<u64>()) {
            let uid = uid(&id);
            let name = name(&set, &uid, n);
            prop_assert!(is_label(&name), "{}", name);
            prop_assert_eq!(ordinal(&set, &uid, &name), Some(n));
        }

        #[test]
        fn a_parent_with_dots_has_children_with_valid_names(set in "[a-z](\\.[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?){0,5}", n in any::<u64>()) {
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
