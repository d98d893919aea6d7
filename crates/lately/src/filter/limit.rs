//! How far an elastic filter may grow.

use super::Filter;
use crate::error::ConfigError;
use crate::layout::Memory;

impl Filter {
    /// Changes how much memory an elastic filter may grow to. Nothing is forgotten. A filter with fixed memory does not
    /// change.
    ///
    /// ```
    /// use core::time::Duration;
    /// use lately::Filter;
    ///
    /// let builder = Filter::builder().time_window(Duration::from_secs(60)).false_positive_rate(1e-3);
    /// let mut filter = builder.max_memory(64 << 10).build()?;
    /// filter.insert("kept");
    /// filter.set_max_memory(1 << 20)?;
    /// assert!(filter.plan().memory_bytes > 64 << 10 && filter.contains("kept"));
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If the filter has already needed more memory than that.
    pub fn set_max_memory(&mut self, max_memory: u64) -> Result<(), ConfigError> {
        let Memory::Elastic(bins) = &mut self.memory else { return Ok(()) };
        let lines = bins.history().peak_lines;
        let needed_bytes = self.dimensions.bytes_with(lines);
        let found = self.dimensions.with_max_memory(max_memory);
        let dimensions = found.ok().filter(|dimensions| dimensions.cells >= lines);
        let too_small = ConfigError::MemoryTooSmall {
            needed_bytes,
            max_memory,
            fitting_window: None,
            fitting_rate: None,
        };
        self.dimensions = dimensions.ok_or(too_small)?;
        bins.set_most_lines(self.dimensions.cells);
        self.ageing.window = self.dimensions.window;
        self.ageing.items_per_generation = self.dimensions.items_per_generation;
        // It may have given up looking for room.
        self.ageing.look_now();
        Ok(())
    }
}
