//! The module's section of `INFO`: totals over all filters.

use crate::server::{InfoFields, InfoSection};
use crate::traffic::TOTALS;
use crate::value;

pub(crate) struct Totals;

impl InfoSection for Totals {
    fn write(fields: &InfoFields) {
        let (lookups, misses, repeats) = (TOTALS.lookups.get(), TOTALS.misses.get(), TOTALS.repeats.get());
        fields.add(c"keys", value::filter_count());
        fields.add(c"memory_bytes", value::total_bytes());
        fields.add(c"inserts", TOTALS.inserts.get());
        fields.add(c"new_items", TOTALS.new_items.get());
        fields.add(c"repeats", repeats);
        fields.add(c"lookups", lookups);
        fields.add(c"misses", misses);
        // What was seen lately, whether it was added or only looked up.
        fields.add(c"hits", repeats + lookups - misses);
        fields.add(c"growths", TOTALS.growths.get());
        fields.add(c"shrinks", TOTALS.shrinks.get());
        fields.add(c"overloaded_generations", TOTALS.overloaded_generations.get());
        fields.add(c"backward_steps", TOTALS.backward_steps.get());
    }
}
