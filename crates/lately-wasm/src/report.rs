//! Plans, statistics and ages as lists of numbers. `report.js` reads them in the same order.

use alloc::vec::Vec;

use lately::{AgeRange, Clock, Filter, Layout, Overload, Plan, Segment, Statistics, Window};

use crate::numbers::Writer;

pub(crate) fn plan(reply: &mut Writer<'_>, plan: &Plan) {
    let (parts, block_bits, row_bytes, fingerprint_bits) = match plan.shape.segment {
        Segment::Slices { parts } => (parts, None, None, None),
        Segment::Blocks { block_bits, bits_per_block } => (bits_per_block, Some(block_bits), None, None),
        Segment::Rows { row_bytes, parts } => (parts, None, Some(row_bytes), None),
        Segment::Bins { fingerprint_bits } | Segment::ElasticBins { fingerprint_bits } => {
            (1, None, None, Some(fingerprint_bits))
        }
        _ => (0, None, None, None),
    };
    reply.count(plan.window.items());
    reply.flag(matches!(plan.window, Window::Elastic { .. }));
    reply.optional(plan.window.span().map(|span| span.as_millis() as u64));
    reply.place(plan.window.overload(), Overload::ALL);
    reply.place(Some(plan.layout()), Layout::ALL);
    reply.count(plan.shape.required_matches.into());
    reply.count(plan.shape.window_generations.into());
    reply.count(parts.into());
    reply.optional(block_bits.map(u64::from));
    reply.optional(row_bytes.map(u64::from));
    reply.optional(fingerprint_bits.map(u64::from));
    reply.count(plan.items_per_generation);
    reply.count(plan.guaranteed_items());
    reply.count(plan.cells);
    reply.count(plan.memory_bytes);
    reply.number(plan.bits_per_item);
    reply.number(plan.false_positive_rate);
    reply.number(plan.npws);
    reply.number(plan.efficiency);
    reply.count(plan.accesses_per_insert.into());
    reply.number(plan.accesses.window);
    reply.number(plan.accesses.false_positive);
    reply.number(plan.accesses.absent);
}

pub(crate) fn age(reply: &mut Writer<'_>, age: &AgeRange) {
    reply.count(*age.inserts.start());
    reply.count(*age.inserts.end());
    let millis = |end: &core::time::Duration| end.as_millis() as u64;
    reply.optional(age.time.as_ref().map(|time| millis(time.start())));
    reply.optional(age.time.as_ref().map(|time| millis(time.end())));
}

/// The ages come last, because their number varies.
pub(crate) fn statistics(reply: &mut Writer<'_>, statistics: &Statistics) {
    reply.count(statistics.inserts);
    reply.count(statistics.generation);
    reply.number(statistics.estimated_false_positive_rate);
    reply.number(statistics.estimated_distinct_items);
    reply.number(statistics.estimated_spilled_items);
    reply.count(statistics.backward_steps);
    reply.count(statistics.overloaded_generations);
    reply.optional(statistics.latest_ms);
    reply.count(statistics.memory_bytes);
    reply.count(statistics.peak_memory_bytes);
    reply.count(statistics.growths);
    reply.count(statistics.shrinks);
    for (fill, items) in statistics.fill_by_age.iter().zip(&statistics.items_by_age) {
        reply.number(*fill);
        age(reply, items);
    }
}

/// What is known without reading the filter's memory.
pub(crate) fn facts(reply: &mut Writer<'_>, filter: &Filter) {
    reply.flag(filter.window().span().is_some());
    reply.count(filter.guaranteed_window());
    reply.optional(filter.guaranteed_span().map(|span| span.as_millis() as u64));
    reply.count(filter.memory_bytes());
    reply.place(Some(filter.clock()), Clock::ALL);
    // The kind only: the key of a keyed hash is secret.
    reply.flag(filter.hash_function().is_keyed());
}

/// The names of settings' values, in the order of the places that plans and options use: lists with commas, one per
/// line.
pub(crate) fn names(reply: &mut Vec<u8>) {
    let lists = [
        Layout::ALL.iter().map(|layout| layout.name()).collect::<Vec<_>>(),
        lately::Prefer::ALL.iter().map(|prefer| prefer.name()).collect(),
        Overload::ALL.iter().map(|overload| overload.name()).collect(),
        Clock::ALL.iter().map(|clock| clock.name()).collect(),
    ];
    reply.clear();
    reply.extend_from_slice(lists.map(|names| names.join(",")).join("\n").as_bytes());
}
