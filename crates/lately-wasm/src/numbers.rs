//! Lists of numbers that cross the border. `NaN` is a number that was not given.

use alloc::vec::Vec;

/// Reads the numbers of the input, in order.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    /// Returns the next number, unless it was not given.
    pub(crate) fn next(&mut self) -> Option<f64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*number)).filter(|number| !number.is_nan())
    }

    /// Returns the next number as an integer. The package has checked that it is one.
    pub(crate) fn next_count(&mut self) -> Option<u64> {
        self.next().map(|number| number as u64)
    }

    /// Returns the value whose place in a list is the next number.
    pub(crate) fn next_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        self.next().and_then(|index| all.get(index as usize).copied())
    }

    /// Returns everything after the numbers read so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
}

/// Writes numbers to the reply.
#[derive(Debug)]
pub(crate) struct Writer<'a>(&'a mut Vec<u8>);

impl<'a> Writer<'a> {
    pub(crate) fn new(reply: &'a mut Vec<u8>) -> Self {
        reply.clear();
        Self(reply)
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Counts are below 2^53, except in snapshots that claim otherwise; those are rounded.
    pub(crate) fn count(&mut self, count: u64) {
        self.number(count as f64);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.number(f64::from(u8::from(flag)));
    }

    pub(crate) fn optional(&mut self, count: Option<u64>) {
        self.number(count.map_or(f64::NAN, |count| count as f64));
    }

    /// Writes the place of a value in a list.
    pub(crate) fn place<T: PartialEq>(&mut self, value: Option<T>, all: &[T]) {
        self.optional(
            value.and_then(|value| all.iter().position(|of| *of == value)).map(|index| index as u64),
        );
    }
}
