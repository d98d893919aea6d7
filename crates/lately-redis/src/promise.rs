//! The promise that a user asks of a filter. `planning` turns it into a plan.

use std::time::Duration;

use lately::{Builder, Filter, Layout, Overload};

/// Everything that determines a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Promise {
    pub(crate) error_rate: f64,
    pub(crate) window: u64,
    pub(crate) span_ms: Option<u64>,
    pub(crate) overload: Option<Overload>,
    pub(crate) slack: Option<f64>,
    pub(crate) layout: Option<Layout>,
    pub(crate) shape: Option<(u32, u32)>,
}

impl Promise {
    /// Returns the library's planner for this promise.
    pub(crate) fn builder(&self) -> Builder {
        let mut builder = Filter::builder().false_positive_rate(self.error_rate);
        builder = match self.span_ms {
            Some(span_ms) => builder.time_window(Duration::from_millis(span_ms), self.window),
            None => builder.window(self.window),
        };
        if let Some(overload) = self.overload {
            builder = builder.overload(overload);
        }
        if let Some(slack) = self.slack {
            builder = builder.max_slack(slack);
        }
        if let Some(layout) = self.layout {
            builder = builder.layout(layout);
        }
        if let Some((k, l)) = self.shape {
            builder = builder.shape(k, l);
        }
        builder
    }
}
