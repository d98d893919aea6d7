//! When generations begin, computed without the filter: an oracle that cannot repeat its mistakes.

use std::collections::HashMap;

use lately::{Overload, Shape, Window};

/// When generations begin, from the window asked for and the shape alone: l generations share a span or a window.
pub struct Generations {
    /// l, and k + l.
    l: u64,
    segments: u64,
    span_ms: Option<u64>,
    /// The inserts that end a generation; `None` if only the clock does.
    inserts_each: Option<u64>,
    latest_ms: Option<u64>,
    /// How many inserts came before each generation.
    begun_at: Vec<u64>,
    inserts: u64,
    /// The generation of each item's last insert.
    last: HashMap<u64, usize>,
}

impl Generations {
    pub fn new(window: Window, shape: &Shape) -> Self {
        let l = u64::from(shape.window_generations);
        let keeps_window = window.overload() == Some(Overload::KeepWindow);
        Self {
            l,
            segments: u64::from(shape.segments()),
            span_ms: window.span().map(|span| span.as_millis() as u64),
            inserts_each: (!keeps_window).then_some(window.items().div_ceil(l)),
            latest_ms: None,
            begun_at: vec![0],
            inserts: 0,
            last: HashMap::new(),
        }
    }

    pub fn insert(&mut self, number: u64) {
        if self.inserts_each.is_some_and(|each| self.inserts - self.begun_at.last().unwrap() >= each) {
            self.begun_at.push(self.inserts);
        }
        self.inserts += 1;
        self.last.insert(number, self.begun_at.len() - 1);
    }

    pub fn advance_to(&mut self, now_ms: u64) {
        let Some(span_ms) = self.span_ms else { return };
        let latest_ms = self.latest_ms.unwrap_or(now_ms);
        let begun = (now_ms * self.l / span_ms).saturating_sub(latest_ms * self.l / span_ms);
        (0..begun.min(self.segments)).for_each(|_| self.begun_at.push(self.inserts));
        self.latest_ms = Some(now_ms.max(latest_ms));
    }

    pub fn clear(&mut self) {
        (self.latest_ms, self.inserts, self.begun_at) = (None, 0, vec![0]);
        self.last.clear();
    }

    /// The oldest generation that is kept whole.
    pub fn oldest_kept(&self) -> usize {
        (self.begun_at.len() - 1).saturating_sub(self.l as usize)
    }

    /// The inserts since the oldest generation that is kept whole. A count window promises no more than l generations.
    pub fn guaranteed_window(&self) -> u64 {
        match (self.span_ms, self.inserts_each) {
            (None, Some(each)) => self.l * each,
            _ => self.inserts - self.begun_at[self.oldest_kept()],
        }
    }

    pub fn kept(&self) -> impl Iterator<Item = u64> + '_ {
        let oldest = self.oldest_kept();
        self.last.iter().filter(move |(_, generation)| **generation >= oldest).map(|(number, _)| *number)
    }
}
