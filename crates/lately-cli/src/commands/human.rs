//! Formats numbers, windows and lists for people.

use std::fmt::{Display, Write as _};

use lately::Window;

use crate::dates::exactly;

/// Lines of a name and a value. The values are aligned.
#[derive(Debug)]
pub(super) struct Listing {
    text: String,
    name_width: usize,
}

impl Listing {
    pub(super) fn new(name_width: usize) -> Self {
        Self { text: String::new(), name_width }
    }

    pub(super) fn line(&mut self, name: &str, value: impl Display) {
        let width = self.name_width;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{}", format!("{name:<width$} {value}").trim_end());
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Formats bytes for people: one decimal and a binary unit.
pub(super) fn human_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Describes a window in words.
pub(super) fn human_window(window: &Window) -> String {
    match *window {
        Window::Count { inserts } => format!("the last {inserts} records"),
        Window::Time { span, capacity, .. } => {
            format!("the last {}, up to {capacity} records", exactly(span))
        }
        Window::Elastic { span, .. } => format!("the last {}", exactly(span)),
        _ => "a window of a kind that this version does not know".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_few_digits() {
        assert_eq!(human_bytes(1_023), "1023 B");
        assert_eq!(human_bytes(5_400_000), "5.1 MiB");
    }
}
