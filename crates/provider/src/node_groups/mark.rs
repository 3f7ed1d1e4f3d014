//! The text that is stored on a group, and how it is cut into tags.
//!
//! A tag of AWS holds 256 characters, too few for the plan of a large group. So a text is cut into pieces, in tags whose keys count up:
//! `machinist.dev/recycle`, `machinist.dev/recycle.1` and so on. The first piece begins with the number of pieces, so that what an earlier and
//! longer text left behind is not taken for a part of this one. All pieces are written in one call.
//!
//! In: a text. Out: pairs of key and value, and the text again. Not here: what the text says.

/// The key of the first tag, and the beginning of the keys of the others.
pub const KEY: &str = "machinist.dev/recycle";

/// The longest text that can be stored.
pub const LONGEST: usize = MOST * PIECE;

/// How much of the text goes into one tag; the number of pieces takes two characters of the first.
const PIECE: usize = 250;
/// A group has room for fifty tags, and most of them are for others.
const MOST: usize = 9;

/// Whether a text can be stored: neither empty nor too long, and of the characters that every service of AWS takes in a tag.
pub fn fits(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " +-=._:/@".contains(c);
    // AWS may take white space at the ends of a value away.
    (1..=LONGEST).contains(&text.len()) && text.chars().all(allowed) && text.trim() == text
}

/// The tags for a text that [`fits`].
pub fn to_tags(text: &str) -> Vec<(String, String)> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(PIECE);
    let count = pieces.len();
    pieces
        .enumerate()
        .map(|(index, piece)| {
            let piece: String = piece.iter().collect();
            // A piece may begin or end with white space, but not the value of a tag.
            let value = if index == 0 { format!("{count}:{piece}:") } else { format!(":{piece}:") };
            (key(index), value)
        })
        .collect()
}

/// Reads tags back; `None` where there are none, or where they are no text of ours.
pub fn from_tags<'a>(tag: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let (count, first) = tag(KEY)?.split_once(':')?;
    let count: usize = count.parse().ok().filter(|count| (1..=MOST).contains(count))?;
    let mut text = first.strip_suffix(':')?.to_owned();
    for index in 1..count {
        text.push_str(tag(&key(index))?.strip_prefix(':')?.strip_suffix(':')?);
    }
    Some(text)
}

/// Every key that a text may be stored under.
pub fn keys() -> impl Iterator<Item = String> {
    (0..MOST).map(key)
}

fn key(index: usize) -> String {
    if index == 0 { KEY.to_owned() } else { format!("{KEY}.{index}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_stored_is_read_back_whatever_its_length() {
        for length in [1, 249, 250, 251, 500, LONGEST] {
            let text = "a b".repeat(length)[..length].replace(' ', "=");
            let tags: BTreeMap<_, _> = to_tags(&text).into_iter().collect();
            assert!(fits(&text) && tags.values().all(|value| value.len() <= 256));
            assert!(tags.keys().all(|key| keys().any(|known| known == *key)));
            let read = from_tags(|key| tags.get(key).map(String::as_str));
            assert_eq!(read, Some(text));
        }
    }

    #[test]
    fn pieces_of_a_longer_text_are_no_part_of_a_shorter_one() {
        let mut tags: BTreeMap<_, _> = to_tags(&"old".repeat(200)).into_iter().collect();
        tags.extend(to_tags("new"));
        assert_eq!(from_tags(|key| tags.get(key).map(String::as_str)), Some("new".to_owned()));
    }

    #[test]
    fn what_is_incomplete_or_no_text_of_ours_is_none() {
        let read = |tags: &[(&'static str, &'static str)]| {
            from_tags(|key| tags.iter().find(|(k, _)| *k == key).map(|(_, value)| *value))
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(KEY, "yes")]), None);
        assert_eq!(read(&[(KEY, "0::")]), None);
        assert_eq!(read(&[(KEY, "2:half:")]), None);
        assert_eq!(read(&[(KEY, "1:whole:")]), Some("whole".to_owned()));
    }

    #[test]
    fn what_a_tag_cannot_hold_does_not_fit() {
        for text in ["", " x", "x ", "{}", "ä", "a\nb"] {
            assert!(!fits(text), "{text:?}");
        }
        assert!(!fits(&"x".repeat(LONGEST + 1)));
        assert!(fits("v1 Replace 1/3/2 i-0123 2026-11-16T02:00:00Z a=b_c@d+e"));
    }
}
