//! Words that repeat from object to object (namespaces, types, label names) are stored once.
//!
//! Machines and Nodes name each other: the Node's name is in its Machine, and both have the instance's. So all kinds of a process have one pool of
//! words ([`Words::common`]); it says nothing about any object.

use std::sync::{Arc, LazyLock};

use super::pool::Pool;

/// Longer ones seldom repeat, and looking them up costs more than it saves.
const LONGEST_WORD: usize = 128;

/// Words that somebody has.
#[derive(Default)]
pub(super) struct Words(Pool<str>);

impl Words {
    /// The words of all kinds of this process.
    pub(super) fn common() -> Arc<Self> {
        static COMMON: LazyLock<Arc<Words>> = LazyLock::new(Arc::default);
        Arc::clone(&COMMON)
    }

    /// The word, in the place where it was stored first.
    pub(super) fn share(&self, word: impl AsRef<str>) -> Arc<str> {
        let word = word.as_ref();
        if word.len() > LONGEST_WORD {
            return word.into();
        }
        self.0.share_with(word, || word.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_repeats_is_stored_once() {
        let words = Words::default();
        let (first, second) = (words.share("zone-a"), words.share(String::from("zone-a")));
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn a_text_is_not_looked_up() {
        let (words, text) = (Words::default(), "x".repeat(LONGEST_WORD + 1));
        assert!(!Arc::ptr_eq(&words.share(&text), &words.share(&text)));
    }
}
