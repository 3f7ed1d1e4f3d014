//! Licence expressions as crates write them: `MIT OR Apache-2.0`, `(A OR B) AND C`, `A WITH exception`, and the old `MIT/Apache-2.0`.
//!
//! `AND` binds tighter than `OR`. The answer is yes or no; which licence of an `OR` is taken does not matter.

/// Whether the expression can be satisfied with the allowed licences. An empty or broken one cannot.
pub(crate) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, at: 0, allowed };
    parser.any() == Some(true) && parser.at == words.len()
}

/// Every method returns `None` where the expression is broken.
struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    allowed: &'a [String],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).copied()
    }

    fn eat(&mut self, word: &str) -> bool {
        let matches = self.peek() == Some(word);
        self.at += usize::from(matches);
        matches
    }

    fn any(&mut self) -> Option<bool> {
        let mut verdict = self.all()?;
        while self.eat("OR") {
            verdict |= self.all()?;
        }
        Some(verdict)
    }

    fn all(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.eat("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let verdict = self.any()?;
            return self.eat(")").then_some(verdict);
        }
        let mut licence =
            self.peek().filter(|word| !matches!(*word, "OR" | "AND" | "WITH" | ")"))?.to_owned();
        self.at += 1;
        if self.eat("WITH") {
            licence = format!("{licence} WITH {}", self.peek()?);
            self.at += 1;
        }
        Some(self.allowed.contains(&licence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(expression: &str) -> bool {
        is_allowed(
            expression,
            &["MIT".into(), "ISC".into(), "Apache-2.0 WITH LLVM-exception".into()],
        )
    }

    #[test]
    fn one_of_an_or_and_all_of_an_and() {
        assert!(allowed("MIT"));
        assert!(allowed("GPL-3.0 OR MIT"));
        assert!(allowed("GPL-3.0/MIT"));
        assert!(!allowed("GPL-3.0 AND MIT"));
        assert!(allowed("ISC AND (GPL-3.0 OR MIT)"));
        assert!(!allowed("(ISC OR MIT) AND GPL-3.0"));
    }

    #[test]
    fn and_binds_tighter() {
        assert!(allowed("MIT OR GPL-3.0 AND AGPL-3.0"));
        assert!(!allowed("GPL-3.0 AND MIT OR AGPL-3.0"));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        assert!(allowed("Apache-2.0 WITH LLVM-exception"));
        assert!(!allowed("Apache-2.0"));
    }

    #[test]
    fn what_cannot_be_read_is_not_allowed() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "OR MIT", "MIT ISC", "MIT WITH", "()"] {
            assert!(!allowed(broken), "{broken:?}");
        }
    }
}
