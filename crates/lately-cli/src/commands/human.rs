//! Formats numbers, windows and lists for people.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use lately::Window;

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

/// Formats a span for people, in the largest unit that divides it.
pub(super) fn human_span(span: Duration) -> String {
    let millis = span.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.into_iter().find(|(unit, _)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None => format!("{millis}ms"),
    }
}

/// Describes a window in words.
pub(super) fn human_window(window: &Window) -> String {
    match *window {
        Window::Count { inserts } => format!("the last {inserts} records"),
        Window::Time { span, capacity, .. } => {
            format!("the last {}, up to {capacity} records", human_span(span))
        }
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
        for (millis, text) in [(600_000, "10m"), (90_000, "90s"), (1_234, "1234ms"), (0, "0ms")] {
            assert_eq!(human_span(Duration::from_millis(millis)), text);
        }
    }
}
