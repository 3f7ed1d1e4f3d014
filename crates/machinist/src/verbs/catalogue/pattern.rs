//! Glob patterns with `*` and `?`.

pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // The last star, and the end of what it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(b'?') => (p, n) = (p + 1, n + 1),
            Some(letter) if *letter == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                None => return false,
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("m6i.large", "m6i.large", true),
            ("m6i.large", "m6i.xlarge", false),
            ("m6i.*", "m6i.large", true),
            ("m6i.*", "m6id.large", false),
            ("m?i.large", "m7i.large", true),
            ("*.metal*", "c7i.metal-24xl", true),
            ("*large", "m6i.xlarge", true),
            ("*a*b*c", "xaxbxcxbc", true),
            ("*", "", true),
            ("", "a", false),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
