//! Splits a text into documents. The concatenated pieces are the text, byte for byte. In YAML a line with the word
//! `---` or `...` is a document marker everywhere, even inside of a scalar. JSON values follow each other with optional
//! white space.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Yaml,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
    pub(crate) notation: Notation,
}

pub(crate) fn documents(text: &str) -> Vec<Document<'_>> {
    let pieces = json_values(text).map(|pieces| (pieces, Notation::Json));
    let (pieces, notation) = pieces.unwrap_or_else(|| (yaml_documents(text), Notation::Yaml));
    let mut line = 1;
    pieces
        .into_iter()
        .map(|text| {
            let document = Document { text, line, notation };
            line += text.matches('\n').count();
            document
        })
        .collect()
}

/// The pieces, if the whole text is JSON values; each with the white space after it.
fn json_values(text: &str) -> Option<Vec<&str>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(value) = values.next() {
        value.ok()?;
        let end = values.byte_offset();
        let after = text.get(end..)?;
        let next = end + after.len() - after.trim_start().len();
        pieces.push(text.get(start..next)?);
        start = next;
    }
    Some(pieces)
}

fn yaml_documents(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    // Comments and directives before a marker belong to the document after it.
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        if is_marker(line, "---") {
            if has_content {
                pieces.push(&text[start..at]);
                start = at;
            }
            has_content = true;
        } else if is_marker(line, "...") {
            pieces.push(&text[start..at + line.len()]);
            start = at + line.len();
            has_content = false;
        } else if !line.trim().is_empty() && !line.starts_with(['#', '%']) {
            has_content = true;
        }
        at += line.len();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

pub(crate) fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        documents(text).into_iter().map(|document| document.text).collect()
    }

    #[test]
    fn documents_begin_at_markers_and_keep_what_is_around_them() {
        let text = "# top\n---\na: 1\n---  # next\nb: |\n  ---\n  x\n...\n%YAML 1.2\n---\nc: 3\n";
        let expected = [
            "# top\n---\na: 1\n",
            "---  # next\nb: |\n  ---\n  x\n...\n",
            "%YAML 1.2\n---\nc: 3\n",
        ];
        assert_eq!(pieces(text), expected);
        let lines: Vec<_> = documents(text).iter().map(|document| document.line).collect();
        assert_eq!(lines, [1, 4, 9]);
        assert_eq!(pieces("a: 1\n----\n---b\n"), ["a: 1\n----\n---b\n"]);
        assert_eq!(pieces(""), [""; 0]);
    }

    #[test]
    fn json_values_follow_each_other() {
        let documents = documents("{\"a\":1}\n{\"b\":2} [3]\n");
        assert!(documents.iter().all(|document| document.notation == Notation::Json));
        let texts: Vec<_> = documents.iter().map(|document| document.text).collect();
        assert_eq!(texts, ["{\"a\":1}\n", "{\"b\":2} ", "[3]\n"]);
        assert_eq!(super::documents("{a: 1}")[0].notation, Notation::Yaml);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "([a-z:{} \r\"]{0,4}(---|\\.\\.\\.)?[ a]?\n){0,8}.{0,5}") {
            prop_assert_eq!(pieces(&text).concat(), text);
        }
    }
}
