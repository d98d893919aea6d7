//! What an elastic table has done so far.

/// Counters. They belong to the state of the table: how it grows depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// How often the table grew.
    pub(crate) growths: u64,
    /// How often it shrank.
    pub(crate) shrinks: u64,
    /// The most lines that it ever had.
    pub(crate) peak_lines: u64,
    /// The items that went into the spare.
    pub(crate) spilled: u64,
    /// Those of them that came before the newest generation, or before the table last grew.
    pub(crate) spilled_before: u64,
}

impl History {
    /// That of a new table.
    pub(crate) fn new(lines: u64) -> Self {
        Self { growths: 0, shrinks: 0, peak_lines: lines, spilled: 0, spilled_before: 0 }
    }

    /// The items that went into the spare since the newest generation began, and since the table last grew.
    pub(super) fn spilled_lately(&self) -> u64 {
        self.spilled - self.spilled_before
    }

    /// The table has grown to so many lines.
    pub(super) fn grew(&mut self, lines: u64) {
        self.growths += 1;
        self.peak_lines = self.peak_lines.max(lines);
        self.spilled_before = self.spilled;
    }
}
