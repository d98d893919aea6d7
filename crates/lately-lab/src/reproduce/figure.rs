//! A figure: its numbers as a CSV file, its charts in the report.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use crate::report::{Chart, Section};

pub(super) struct Figure {
    /// The file name without its extension.
    pub(super) name: &'static str,
    /// Names the paper's figure.
    pub(super) caption: String,
    pub(super) charts: Vec<Chart>,
    pub(super) numbers: Numbers,
}

impl Figure {
    pub(super) fn write_csv(&self, directory: &Path) -> io::Result<()> {
        self.numbers.write(directory, self.name)
    }

    pub(super) fn add_to(&self, section: &mut Section) {
        section.figure(&self.charts, &format!("{} (Numbers: {}.csv)", self.caption, self.name));
    }
}

/// Rows of a CSV file. Cells are plain: no commas, no quotes.
pub(super) struct Numbers(String);

impl Numbers {
    pub(super) fn new(columns: &[&str]) -> Self {
        Self(columns.join(",") + "\n")
    }

    /// Adds a row that begins with `label`. Numbers that are not finite give empty cells.
    pub(super) fn row(&mut self, label: &str, numbers: &[f64]) {
        debug_assert!(!label.contains([',', '"', '\n']), "{label} would need quotes");
        self.0.push_str(label);
        for number in numbers {
            let written = if number.is_finite() { write!(self.0, ",{number}") } else { write!(self.0, ",") };
            written.expect("writing to a string cannot fail");
        }
        self.0.push('\n');
    }

    pub(super) fn write(&self, directory: &Path, name: &str) -> io::Result<()> {
        fs::write(directory.join(format!("{name}.csv")), &self.0)
    }
}
