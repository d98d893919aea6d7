//! Tables of a report.

use std::fmt::Write as _;

use super::escape;

/// Rows of cells under named columns.
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

struct Cell {
    text: String,
    class: &'static str,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self) -> Row<'_> {
        self.rows.push(Vec::new());
        Row(self.rows.last_mut().expect("just pushed"))
    }

    pub(super) fn to_html(&self) -> String {
        let mut html = String::from("<div class=\"scroll\"><table><thead><tr>");
        let is_text = |column: usize| {
            self.rows.first().and_then(|row| row.get(column)).is_some_and(|cell| cell.class == "text")
        };
        for (i, column) in self.columns.iter().enumerate() {
            let class = if is_text(i) { " class=\"text\"" } else { "" };
            write!(html, "<th{class}>{}</th>", escape(column)).expect("writing to a string cannot fail");
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for cell in row {
                let class =
                    if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
                write!(html, "<td{class}>{}</td>", escape(&cell.text))
                    .expect("writing to a string cannot fail");
            }
            html.push_str("</tr>\n");
        }
        html + "</tbody></table></div>"
    }
}

/// Cells are added from left to right.
pub(crate) struct Row<'a>(&'a mut Vec<Cell>);

impl Row<'_> {
    fn cell(&mut self, text: impl Into<String>, class: &'static str) -> &mut Self {
        self.0.push(Cell { text: text.into(), class });
        self
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.cell(text, "text")
    }

    pub(crate) fn number(&mut self, text: impl Into<String>) -> &mut Self {
        self.cell(text, "")
    }

    /// Adds a number, highlighted if `flagged`.
    pub(crate) fn number_if(&mut self, text: impl Into<String>, flagged: bool) -> &mut Self {
        self.cell(text, if flagged { "flag" } else { "" })
    }

    pub(crate) fn bad_if(&mut self, text: impl Into<String>, bad: bool) -> &mut Self {
        self.cell(text, if bad { "bad" } else { "" })
    }
}

/// Formats a number with three digits, in powers of ten if that is shorter.
pub(crate) fn scientific(value: f64) -> String {
    if value == 0.0 {
        "0".into()
    } else if (0.001..10_000.0).contains(&value.abs()) {
        format!("{value:.*}", (2 - value.abs().log10().floor() as i32).max(0) as usize)
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.123_45, 1.234, 12.34, 1234.5, 0.000_012_34].map(scientific);
        assert_eq!(shown, ["0", "0.123", "1.23", "12.3", "1234", "1.23e-5"]);
    }

    #[test]
    fn cells_are_escaped_and_flagged() {
        let mut table = Table::new(["a<b", "n"]);
        table.row().text("x&y").number_if("1", true);
        let html = table.to_html();
        assert!(html.contains("<th class=\"text\">a&lt;b</th><th>n</th>"), "{html}");
        assert!(html.contains("<td class=\"text\">x&amp;y</td><td class=\"flag\">1</td>"), "{html}");
    }
}
