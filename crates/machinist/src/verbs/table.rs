//! Tables as kubectl prints them: upper-case headings, three spaces between columns.

use crate::terminal::escape;

/// Lines of equal columns. The last column is not padded.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut all = vec![headings.iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>()];
    let escaped = |row: Vec<String>| row.iter().map(|cell| escape(cell).into_owned()).collect();
    all.extend(rows.into_iter().map(escaped));
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let mut text = String::new();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let padded: Vec<_> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(padded.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// At most so many characters, on one line.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = escape(&line);
    match line.char_indices().nth(most) {
        None => line.into_owned(),
        Some(_) => line.chars().take(most.saturating_sub(3)).chain("...".chars()).collect(),
    }
}

/// A time that has passed, as kubectl writes it: `45s`, `12m`, `3h`, `2d`.
pub(crate) fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds @ 7200..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::HOSTILE;

    const HEADING: &str = "X";

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let rows =
            vec![vec!["a".to_owned(), "ärger".to_owned()], vec!["long".to_owned(), "-".to_owned()]];
        assert_eq!(table(&["X", "Y"], rows), "X      Y\na      ärger\nlong   -\n");
    }

    #[test]
    fn long_and_broken_texts_are_one_short_line() {
        assert_eq!(cut("a\n b", 70), "a b");
        assert_eq!(cut(&"x".repeat(80), 70), format!("{}...", "x".repeat(67)));
        assert_eq!(cut(&"x".repeat(70), 70), "x".repeat(70));
    }

    #[test]
    fn cells_do_not_control_the_terminal() {
        let rows = vec![vec![HOSTILE.to_owned(), cut(HOSTILE, 400)]];
        let table = table(&[HEADING, HEADING], rows);
        let controls = |line: &str| line.contains(crate::terminal::controls_terminal);
        assert!(table.lines().count() == 2 && !table.lines().any(controls), "{table:?}");
        assert!(cut(HOSTILE, 20).chars().count() <= 20);
    }

    #[test]
    fn ages() {
        let ages = [(-5, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")];
        for (seconds, text) in ages {
            assert_eq!(age(seconds), text);
        }
    }
}
