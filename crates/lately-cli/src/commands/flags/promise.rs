//! The flags that describe a filter's promise.

use std::path::Path;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use lately::{Builder, ConfigError, Filter, Layout, MIN_RATE, Plan, Prefer, Window};

use super::units;
use crate::commands::human::{human_bytes, human_span};
use crate::failure::Failure;

/// The rate without `--fp`.
const DEFAULT_RATE: f64 = 1e-4;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Window", group = ArgGroup::new("kind").required(true).args(["window", "within"]))]
pub(crate) struct Promise {
    /// Never forget the last N records (5000, 250k, 1M, 1e6)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = units::count)]
    pub(crate) window: Option<u64>,
    /// Never forget the records of the last SPAN (500ms, 30s, 10m, 24h, 7d); needs --capacity
    #[arg(long, value_name = "SPAN", allow_negative_numbers = true, value_parser = units::span, requires = "capacity")]
    pub(crate) within: Option<Duration>,
    /// The most records expected in one SPAN; above that, more new records are mistaken for repeats
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = units::count, requires = "within", conflicts_with = "window")]
    pub(crate) capacity: Option<u64>,
    /// The rate at which new records may be mistaken for repeats [default: 1e-4]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = rate)]
    pub(crate) fp: Option<f64>,
    /// The most records beyond the window that may still be reported, as a share of the window [default: aims
    /// at 0.2]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = slack)]
    pub(crate) slack: Option<f64>,
    /// Fail if the filter needs more memory than this (64MiB, 1GB)
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = units::bytes)]
    pub(crate) max_memory: Option<u64>,
    /// Use this layout [default: the planner chooses]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Option<LayoutName>,
    /// Whether the planner minimises memory accesses or memory
    #[arg(long, value_name = "WHAT", default_value = "speed")]
    pub(crate) prefer: PreferName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LayoutName {
    /// The least memory
    Slices,
    /// Between slices and rows
    Blocks,
    /// The fastest: one memory access
    Rows,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PreferName {
    /// The fewest memory accesses among the plans that need at most twice the least memory
    Speed,
    /// The least memory
    Memory,
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::Slices => Self::Slices,
            LayoutName::Blocks => Self::Blocks,
            LayoutName::Rows => Self::Rows,
        }
    }
}

impl Promise {
    /// Returns the library's builder for this promise.
    pub(crate) fn builder(&self) -> Builder {
        let mut builder = Filter::builder().prefer(match self.prefer {
            PreferName::Speed => Prefer::Speed,
            PreferName::Memory => Prefer::Memory,
        });
        builder = match (self.window, self.within, self.capacity) {
            (_, Some(span), Some(capacity)) => builder.time_window(span, capacity),
            (Some(inserts), ..) => builder.window(inserts),
            // Unreachable, because clap requires one of the flags; the library would report the missing
            // window.
            (None, ..) => builder,
        };
        builder = builder.false_positive_rate(self.rate());
        if let Some(slack) = self.slack {
            builder = builder.max_slack(slack);
        }
        if let Some(bytes) = self.max_memory {
            builder = builder.max_memory(bytes);
        }
        if let Some(layout) = self.layout {
            builder = builder.layout(layout.into());
        }
        builder
    }

    /// Returns the requested rate or the default, also with `--max-memory`: a plan that does not fit fails.
    /// The best rate that fits could be so high that records are lost, which would surprise users.
    pub(crate) fn rate(&self) -> f64 {
        self.fp.unwrap_or(DEFAULT_RATE)
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.within.is_some()
    }

    /// Fails if a stored filter does not keep this promise. A better rate, less slack or less memory than
    /// requested is accepted; another window or layout is not.
    pub(crate) fn check_stored(&self, stored: &Plan, path: &Path) -> Result<(), Failure> {
        let differs = |parameter: &str, asked: String, found: String| {
            Err(Failure::Other(format!(
                "{}: {parameter} differs: {asked} was requested, but the state was saved with {found}; \
                 request that, or name another --state file to start with an empty filter",
                path.display()
            )))
        };
        let count = |window: u64| format!("--window {window}");
        match stored.window {
            Window::Count { inserts } => match (self.window, self.within) {
                (Some(asked), _) if asked == inserts => {}
                (Some(asked), _) => return differs("the window", count(asked), count(inserts)),
                (_, span) => {
                    return differs("the window", format!("--within {}", span_name(span)), count(inserts));
                }
            },
            Window::Time { span, capacity, .. } => {
                let stored_span = format!("--within {}", span_name(Some(span)));
                match (self.within, self.capacity) {
                    (Some(asked), _) if asked != span => {
                        return differs(
                            "the span",
                            format!("--within {}", span_name(Some(asked))),
                            stored_span,
                        );
                    }
                    (Some(_), Some(asked)) if asked != capacity => {
                        return differs(
                            "the capacity",
                            format!("--capacity {asked}"),
                            format!("--capacity {capacity}"),
                        );
                    }
                    (Some(_), _) => {}
                    (None, _) => {
                        return differs("the window", count(self.window.unwrap_or(0)), stored_span);
                    }
                }
            }
            _ => {
                return differs(
                    "the window",
                    "a window".into(),
                    "a kind that this version does not know".into(),
                );
            }
        }
        if let Some(layout) = self.layout.map(Layout::from)
            && layout != stored.layout()
        {
            return differs(
                "the layout",
                format!("--layout {layout}"),
                format!("--layout {}", stored.layout()),
            );
        }
        // Tolerates rounding in the digits that people write.
        let rate = self.rate();
        if stored.false_positive_rate > rate * 1.000_001 {
            return differs(
                "the rate",
                format!("--fp {rate:e}"),
                format!("--fp {:.3e}", stored.false_positive_rate),
            );
        }
        if let Some(slack) = self.slack
            && stored.npws > slack * 1.000_001
        {
            return differs("the slack", format!("--slack {slack}"), format!("--slack {:.4}", stored.npws));
        }
        if let Some(bytes) = self.max_memory
            && stored.memory_bytes > bytes
        {
            let (asked, found) = (human_bytes(bytes), human_bytes(stored.memory_bytes));
            return differs(
                "the memory",
                format!("--max-memory {bytes} ({asked})"),
                format!("{} bytes ({found})", stored.memory_bytes),
            );
        }
        Ok(())
    }
}

/// Parses and checks a rate. The library checks it too, but only when it plans; a stored filter is not
/// planned again.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (MIN_RATE..1.0).contains(rate));
    rate.ok_or_else(|| {
        format!("not a rate that can be promised; ask for at least {MIN_RATE:e} and less than 1")
    })
}

fn slack(text: &str) -> Result<f64, String> {
    let slack = text.parse().ok().filter(|slack: &f64| *slack > 0.0 && slack.is_finite());
    slack.ok_or_else(|| "not a share of the window; ask for more than 0, for example 0.1".into())
}

fn span_name(span: Option<Duration>) -> String {
    human_span(span.map_or(0, |span| span.as_millis() as u64))
}

/// Puts the flag in front of the library's message. A message that names a function is replaced.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let flag = match &error {
            ConfigError::Allocation { bytes } => {
                return Self::Other(format!(
                    "cannot allocate {bytes} bytes ({}): ask for a smaller window or a higher --fp; \
                     `lately plan` shows how much memory they need",
                    human_bytes(*bytes)
                ));
            }
            ConfigError::MemoryTooSmall { needed_bytes, max_memory, fitting_window, fitting_rate } => {
                let window =
                    fitting_window.map(|window| format!(", or use a --window (or --capacity) of {window}"));
                // Rounded up, so that the printed rate is accepted.
                let rate = fitting_rate.map(|rate| format!(", or use --fp {:.3e}", rate * 1.001));
                return Self::Usage(format!(
                    "--max-memory {max_memory} is too little: {needed_bytes} bytes ({}) are needed; raise it to that{}{}",
                    human_bytes(*needed_bytes),
                    window.unwrap_or_default(),
                    rate.unwrap_or_default()
                ));
            }
            ConfigError::Window { .. } => "--window or --capacity",
            ConfigError::Span { .. } | ConfigError::SpanTooShort { .. } => "--within",
            ConfigError::Rate { .. } | ConfigError::RateUnreachable { .. } => "--fp",
            ConfigError::Slack { .. } | ConfigError::SlackUnreachable { .. } => "--slack",
            ConfigError::Shape { .. } => "--k and --l",
            ConfigError::Parts { .. } => "--parts",
            ConfigError::Block { .. } => "--block-bits and --bits-per-block",
            _ => return Self::Usage(error.to_string()),
        };
        Self::Usage(format!("{flag}: {error}"))
    }
}

/// Describes a window in words.
pub(crate) fn describe_window(window: &Window) -> String {
    match *window {
        Window::Count { inserts } => format!("the last {inserts} records"),
        Window::Time { span, capacity, .. } => {
            format!("the last {}, up to {capacity} records", span_name(Some(span)))
        }
        _ => "a window of a kind that this version does not know".into(),
    }
}
