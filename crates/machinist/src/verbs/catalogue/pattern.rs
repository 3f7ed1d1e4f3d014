//! Glob patterns with `*` and `?`.

pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

pub(super) fn matches(pattern: &str, name: &str) -> bool {
    bytes_match(pattern.as_bytes(), name.as_bytes())
}

fn bytes_match(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], _) => name.is_empty(),
        ([b'*', b'*', ..], _) => bytes_match(&pattern[1..], name),
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|taken| bytes_match(rest, &name[taken..])),
        ([b'?', rest @ ..], [_, more @ ..]) => bytes_match(rest, more),
        ([letter, rest @ ..], [first, more @ ..]) => letter == first && bytes_match(rest, more),
        (_, []) => false,
    }
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
            ("**********************x", "m6i.xlarge", false),
            ("", "a", false),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
