//! Words that repeat from object to object (namespaces, types, label names) are stored once.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// How many different words are remembered.
const MOST_WORDS: usize = 4096;

/// Longer ones seldom repeat, and looking them up costs more than it saves.
const LONGEST_WORD: usize = 128;

/// Words that were stored before.
#[derive(Default)]
pub(super) struct Words(Mutex<HashSet<Arc<str>>>);

impl Words {
    /// The word, in the place where it was stored first.
    pub(super) fn share(&self, word: impl AsRef<str>) -> Arc<str> {
        let word = word.as_ref();
        if word.len() > LONGEST_WORD {
            return word.into();
        }
        let mut words = self.0.lock();
        if let Some(known) = words.get(word) {
            return Arc::clone(known);
        }
        // Nobody has this many in use: most belong to objects that are gone.
        if words.len() >= MOST_WORDS {
            words.clear();
        }
        let word: Arc<str> = word.into();
        words.insert(Arc::clone(&word));
        word
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
    fn words_are_forgotten_before_they_fill_the_memory() {
        let words = Words::default();
        for number in 0..3 * MOST_WORDS {
            words.share(number.to_string());
        }
        assert!(words.0.lock().len() <= MOST_WORDS);
    }
}
