//! Every text in a `messages.rs` has a sample in a snapshot test, which is a row of the generated page. The check
//! compares what stands between the placeholders of a string literal, in lower case.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;

const PAGE: &str = "docs/reference/messages.md";

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let page = repo.read(PAGE)?;
    let mut findings = Vec::new();
    for file in repo.files_below("crates", |name| name.ends_with("/messages.rs"))? {
        for text in missing(&repo.read(&file)?, &page) {
            let advice =
                format!("{text:?} is not in {PAGE}: sample it in the test, run `make fmt`");
            findings.push(Finding::of(&file, advice));
        }
    }
    Ok(findings)
}

/// The literals before the tests that no row of the page has.
fn missing(source: &str, page: &str) -> Vec<String> {
    let code = source.split("\n#[cfg(test)]\n").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    // Without the quotes that neither begin nor end a literal.
    let code = code.collect::<Vec<_>>().join("\n").replace("'\"'", "").replace("\\\"", "\u{1}");
    let page = page.to_lowercase();
    let texts = code.split('"').skip(1).step_by(2).map(in_markdown);
    let texts = texts.filter(|text| text.contains(char::is_alphabetic));
    texts.filter(|text| !page.lines().any(|row| has(row, text))).collect()
}

fn in_markdown(literal: &str) -> String {
    let lines: Vec<_> = literal.split("\\\n").map(str::trim_start).collect();
    let text = lines.concat().replace('\u{1}', "\"").replace("\\n", "<br>");
    text.replace('|', "\\|").to_lowercase()
}

fn has(row: &str, text: &str) -> bool {
    let mut parts =
        text.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after));
    parts.try_fold(row, |row, part| Some(row.split_once(part)?.1)).is_some()
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn finds_a_text_that_no_row_has() {
        let source = "/// Not \"this\".\nconst A: &str = \"no \\\n    node\";\n\
             fn b(n: u8) { format!(\"got {n:?} \\\"x\\\"|\\nend\") }\n#[cfg(test)]\n\"sample\"";
        let page = "| stderr |  | No node |\n| stderr |  | got 5 \"x\"\\|<br>end |";
        assert_eq!(missing(source, page), Vec::<String>::new());
        assert_eq!(missing(source, "| stderr |  | no node |"), ["got {n:?} \"x\"\\|<br>end"]);
    }
}
