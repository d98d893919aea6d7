//! Converts plans, statistics and ages to the dataclasses of the package.

use std::ops::RangeInclusive;

use lately::{AgeRange, Overload, Plan, Segment, Statistics, Window};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyRange, PyTuple};

/// Builds a dictionary of fields.
macro_rules! fields {
    ($py:expr, { $($name:ident: $value:expr,)+ }) => {{
        let fields = PyDict::new($py);
        $(fields.set_item(intern!($py, stringify!($name)), $value)?;)+
        fields
    }};
}

/// Builds an instance of a class in `lately/_report.py`.
fn instance<'py>(py: Python<'py>, class: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "lately._report"))?.getattr(class)?.call((), Some(fields))
}

pub(crate) fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyAny>> {
    let span_ms = plan.window.span().map(|span| span.as_millis() as u64);
    let (parts, block_bits, row_bytes, fingerprint_bits) = match plan.shape.segment {
        Segment::Slices { parts } => (parts, None, None, None),
        Segment::Blocks { block_bits, bits_per_block } => (bits_per_block, Some(block_bits), None, None),
        Segment::Rows { row_bytes, parts } => (parts, None, Some(row_bytes), None),
        Segment::Bins { fingerprint_bits } | Segment::ElasticBins { fingerprint_bits } => {
            (1, None, None, Some(fingerprint_bits))
        }
        _ => (0, None, None, None),
    };
    let accesses = fields!(py, {
        window: plan.accesses.window,
        false_positive: plan.accesses.false_positive,
        absent: plan.accesses.absent,
    });
    let fields = fields!(py, {
        window: plan.window.items(),
        is_elastic: matches!(plan.window, Window::Elastic { .. }),
        span_ms: span_ms,
        overload: plan.window.overload().map(Overload::name),
        layout: plan.layout().name(),
        required_matches: plan.shape.required_matches,
        window_generations: plan.shape.window_generations,
        parts: parts,
        block_bits: block_bits,
        row_bytes: row_bytes,
        fingerprint_bits: fingerprint_bits,
        items_per_generation: plan.items_per_generation,
        cells: plan.cells,
        memory_bytes: plan.memory_bytes,
        bits_per_item: plan.bits_per_item,
        false_positive_rate: plan.false_positive_rate,
        npws: plan.npws,
        efficiency: plan.efficiency,
        accesses_per_insert: plan.accesses_per_insert,
        accesses: instance(py, "QueryAccesses", &accesses)?,
    });
    instance(py, "Plan", &fields)
}

pub(crate) fn age_range<'py>(py: Python<'py>, age: &AgeRange) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields!(py, {
        inserts: range(py, &age.inserts)?,
        millis: age
            .time
            .as_ref()
            .map(|time| range(py, &(time.start().as_millis() as u64..=time.end().as_millis() as u64)))
            .transpose()?,
    });
    instance(py, "AgeRange", &fields)
}

/// The core's ranges include their end, Python's do not.
fn range<'py>(py: Python<'py>, ends: &RangeInclusive<u64>) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyRange>().call1((*ends.start(), u128::from(*ends.end()) + 1))
}

pub(crate) fn statistics<'py>(
    py: Python<'py>,
    statistics: &Statistics,
    refused_times: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let ages = statistics.items_by_age.iter().map(|age| age_range(py, age)).collect::<PyResult<Vec<_>>>()?;
    let fields = fields!(py, {
        inserts: statistics.inserts,
        generation: statistics.generation,
        fill_by_age: PyTuple::new(py, &statistics.fill_by_age)?,
        items_by_age: PyTuple::new(py, ages)?,
        estimated_false_positive_rate: statistics.estimated_false_positive_rate,
        estimated_distinct_items: statistics.estimated_distinct_items,
        backward_steps: statistics.backward_steps,
        refused_times: refused_times,
        overloaded_generations: statistics.overloaded_generations,
        latest_ms: statistics.latest_ms,
        memory_bytes: statistics.memory_bytes,
        peak_memory_bytes: statistics.peak_memory_bytes,
        growths: statistics.growths,
        shrinks: statistics.shrinks,
    });
    instance(py, "Statistics", &fields)
}
