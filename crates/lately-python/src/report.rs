//! Plans, statistics and ages as the package's dataclasses.

use std::ops::RangeInclusive;

use lately::{AgeRange, Overload, Plan, Segment, Statistics, Window};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyRange, PyTuple};

/// An instance of one of the classes in `lately/_report.py`.
fn instance<'py>(py: Python<'py>, class: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "lately._report"))?.getattr(class)?.call((), Some(fields))
}

pub(crate) fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    let (span_ms, overload) = match plan.window {
        Window::Time { span_ms, overload: Overload::KeepWindow, .. } => (Some(span_ms), Some("keep_window")),
        Window::Time { span_ms, overload: Overload::KeepRate, .. } => (Some(span_ms), Some("keep_rate")),
        _ => (None, None),
    };
    let (bits_per_cell, block_bits, row_bytes) = match plan.shape.segment {
        Segment::Slices { parts } => (parts, None, None),
        Segment::Blocks { block_bits, bits_per_block } => (bits_per_block, Some(block_bits), None),
        Segment::Rows { row_bytes, parts } => (parts, None, Some(row_bytes)),
        _ => (0, None, None),
    };
    fields.set_item("window", plan.window.items())?;
    fields.set_item("span_ms", span_ms)?;
    fields.set_item("overload", overload)?;
    fields.set_item("layout", plan.layout().to_string())?;
    fields.set_item("required_matches", plan.shape.required_matches)?;
    fields.set_item("window_generations", plan.shape.window_generations)?;
    fields.set_item("parts", bits_per_cell)?;
    fields.set_item("block_bits", block_bits)?;
    fields.set_item("row_bytes", row_bytes)?;
    fields.set_item("items_per_generation", plan.items_per_generation)?;
    fields.set_item("cells", plan.cells)?;
    fields.set_item("memory_bytes", plan.memory_bytes)?;
    fields.set_item("bits_per_item", plan.bits_per_item)?;
    fields.set_item("false_positive_rate", plan.false_positive_rate)?;
    fields.set_item("npws", plan.npws)?;
    fields.set_item("efficiency", plan.efficiency)?;
    fields.set_item("accesses_per_insert", plan.accesses_per_insert)?;
    let accesses = PyDict::new(py);
    accesses.set_item("window", plan.accesses.window)?;
    accesses.set_item("false_positive", plan.accesses.false_positive)?;
    accesses.set_item("absent", plan.accesses.absent)?;
    fields.set_item("accesses", instance(py, "QueryAccesses", &accesses)?)?;
    instance(py, "Plan", &fields)
}

pub(crate) fn age_range<'py>(py: Python<'py>, age: &AgeRange) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("inserts", range(py, &age.inserts)?)?;
    fields.set_item("millis", age.millis.as_ref().map(|millis| range(py, millis)).transpose()?)?;
    instance(py, "AgeRange", &fields)
}

/// Both ends belong to the core's ranges, only the first to Python's.
fn range<'py>(py: Python<'py>, ends: &RangeInclusive<u64>) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyRange>().call1((*ends.start(), u128::from(*ends.end()) + 1))
}

pub(crate) fn statistics<'py>(py: Python<'py>, statistics: &Statistics) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    let ages = statistics.items_by_age.iter().map(|age| age_range(py, age)).collect::<PyResult<Vec<_>>>()?;
    fields.set_item("inserts", statistics.inserts)?;
    fields.set_item("generation", statistics.generation)?;
    fields.set_item("fill_by_age", PyTuple::new(py, &statistics.fill_by_age)?)?;
    fields.set_item("items_by_age", PyTuple::new(py, ages)?)?;
    fields.set_item("estimated_false_positive_rate", statistics.estimated_false_positive_rate)?;
    fields.set_item("estimated_distinct_items", statistics.estimated_distinct_items)?;
    fields.set_item("backward_steps", statistics.backward_steps)?;
    fields.set_item("overloaded_generations", statistics.overloaded_generations)?;
    fields.set_item("latest_ms", statistics.latest_ms)?;
    fields.set_item("memory_bytes", statistics.memory_bytes)?;
    instance(py, "Statistics", &fields)
}
