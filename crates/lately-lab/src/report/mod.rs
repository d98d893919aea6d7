//! `report.html`: one self-contained page (inline SVG and style, no script, no network) with a section from
//! each command.
//!
//! A command replaces its own section and keeps the other one, so `reproduce` and `race` may write to one
//! directory in any order.

mod chart;
mod style;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

#[cfg(test)]
pub(crate) use chart::MARKER_FORMS;
pub(crate) use chart::{Axis, Chart, MEASURED, Mark, Series, hue};
pub(crate) use table::{Table, scientific};

/// The sections, in the order of the page.
const SECTIONS: [&str; 2] = ["paper", "race"];

/// A section, built piece by piece.
pub(crate) struct Section {
    id: &'static str,
    html: String,
}

impl Section {
    pub(crate) fn new(id: &'static str, title: &str) -> Self {
        assert!(SECTIONS.contains(&id), "{id} has no place on the page");
        let mut section = Self { id, html: String::new() };
        section.push(&format!("<h2>{}</h2>", escape(title)));
        section
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.push(&format!("<h3>{}</h3>", escape(text)));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.push(&format!("<p>{}</p>", escape(text)));
    }

    /// Adds charts with a caption, side by side if there is room.
    pub(crate) fn figure(&mut self, charts: &[Chart], caption: &str) {
        let drawn: String = charts.iter().map(Chart::to_svg).collect();
        self.push(&format!("<figure>{drawn}<figcaption>{}</figcaption></figure>", escape(caption)));
    }

    pub(crate) fn table(&mut self, table: &Table) {
        self.push(&table.to_html());
    }

    /// Adds a table that is folded until its title is clicked.
    pub(crate) fn folded_table(&mut self, title: &str, table: &Table) {
        self.push(&format!("<details><summary>{}</summary>{}</details>", escape(title), table.to_html()));
    }

    fn push(&mut self, html: &str) {
        self.html.push_str(html);
        self.html.push('\n');
    }

    /// Writes the section into the report in `directory`.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        let path = directory.join("report.html");
        let old = match fs::read_to_string(&path) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        fs::write(path, self.page_with(&old))
    }

    fn page_with(&self, old: &str) -> String {
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>lately: the lab's report</title>\n\
             <link rel=\"icon\" href=\"data:,\"><style>{}</style></head>\n<body>\n<h1>lately: the lab's report</h1>\n",
            style::STYLE
        );
        for id in SECTIONS {
            let [begin, end] = borders(id);
            let kept =
                old.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(kept, _)| kept);
            if let Some(html) = if id == self.id { Some(self.html.as_str()) } else { kept } {
                write!(page, "{begin}{html}{end}").expect("writing to a string cannot fail");
            }
        }
        page + "</body>\n</html>\n"
    }
}

/// Creates the directory for a report and the files beside it.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory).map_err(|error| {
        let place = directory.display();
        io::Error::new(
            error.kind(),
            format!("--out {place}: {error}; name a directory that can be written to"),
        )
    })
}

fn borders(id: &str) -> [String; 2] {
    [format!("<section id=\"{id}\">\n"), format!("</section><!-- {id} -->\n")]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: &'static str, text: &str) -> Section {
        let mut section = Section::new(id, id);
        section.paragraph(text);
        section
    }

    #[test]
    fn a_page_is_self_contained() {
        let mut section = section("paper", "text");
        let series = Series::new("a", hue(0), Mark::Marked(1), vec![(1.0, 1.0), (2.0, 2.0)]);
        section.figure(&[Chart::new("c", Axis::linear("x"), Axis::linear("y")).with(series)], "caption");
        let page = section.page_with("");
        for reference in ["http", "<script", "src=", "@import", "url("] {
            assert!(!page.contains(reference), "{reference} in {page}");
        }
    }

    #[test]
    fn an_out_path_that_is_not_a_directory_is_named_with_the_remedy() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = make_directory(&file).expect_err("a file").to_string();
        assert!(error.contains("Cargo.toml") && error.contains("name a directory"), "{error}");
    }

    #[test]
    fn each_command_replaces_its_own_section_only() {
        let race = section("race", "slow & < fast").page_with("");
        let both = section("paper", "tables").page_with(&race);
        assert!(both.contains("slow &amp; &lt; fast") && both.contains("tables"));
        assert!(both.find("tables") < both.find("slow"), "the paper comes first, in any order of writing");
        let again = section("race", "new").page_with(&both);
        assert!(again.contains("tables") && again.contains("new") && !again.contains("slow"));
        assert_eq!(section("race", "new").page_with(&again), again);
    }
}
