//! The module's configs. All can be changed while the server runs.

use std::ffi::CStr;

use lately::{Layout, MAX_WINDOW, Promise};

use crate::arguments;
use crate::planning;
use crate::server::{Configs, EnumConfig, Failure, IntegerConfig, Module, NotRegistered, TextConfig};

static DEFAULT_WINDOW: IntegerConfig =
    IntegerConfig::new(c"default-window", 100_000, 1, MAX_WINDOW.cast_signed());
static DEFAULT_ERROR_RATE: TextConfig<f64> = TextConfig::new(c"default-error-rate", c"0.001", parse_rate);
static DEFAULT_SLACK: TextConfig<Option<f64>> = TextConfig::new(c"default-slack", c"auto", parse_slack);
static DEFAULT_LAYOUT: EnumConfig = EnumConfig::new(c"default-layout", LAYOUTS_AND_AUTO);
const LAYOUTS_AND_AUTO: &[&CStr] = &[c"auto", c"slices", c"blocks", c"rows", c"bins"];
static DEFAULT_KEYED: EnumConfig = EnumConfig::new(c"default-keyed", &[c"no", c"yes"]);
/// The default is the server's default limit for one reply or one argument.
static MAX_BYTES_PER_KEY: IntegerConfig =
    IntegerConfig::new(c"max-bytes-per-key", 512 << 20, 1024, i64::MAX).in_bytes();

static AUTO_CREATE: EnumConfig = EnumConfig::new(c"auto-create", &[c"yes", c"no", c"template"]);

pub(crate) fn register(module: &Module) -> Result<(), NotRegistered> {
    module.integer_config::<Defaults>(&DEFAULT_WINDOW)?;
    module.text_config::<Defaults, _>(&DEFAULT_ERROR_RATE)?;
    module.text_config::<Defaults, _>(&DEFAULT_SLACK)?;
    module.enum_config::<Defaults>(&DEFAULT_LAYOUT)?;
    module.enum_config::<Defaults>(&DEFAULT_KEYED)?;
    module.integer_config::<Defaults>(&MAX_BYTES_PER_KEY)?;
    module.enum_config::<Defaults>(&AUTO_CREATE)
}

/// Which missing keys are created by a command that does not say what to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoCreate {
    All,
    None,
    /// Only those for which there is a template.
    WithTemplate,
}

pub(crate) fn auto_create() -> AutoCreate {
    match AUTO_CREATE.get().to_bytes() {
        b"no" => AutoCreate::None,
        b"template" => AutoCreate::WithTemplate,
        _ => AutoCreate::All,
    }
}

pub(crate) struct Defaults;

impl Configs for Defaults {
    /// Fails if no plan exists for the new defaults.
    fn were_set() -> Result<(), Failure> {
        planning::plan(&default_promise())?;
        Ok(())
    }
}

/// Returns the promise of filters that are created without options.
pub(crate) fn default_promise() -> Promise {
    let mut promise = Promise::default();
    promise.false_positive_rate = DEFAULT_ERROR_RATE.get();
    promise.window = Some(DEFAULT_WINDOW.get());
    // `None` for `auto`: the planner's own target applies.
    promise.max_slack = DEFAULT_SLACK.get().flatten();
    promise.layout = layout_named(DEFAULT_LAYOUT.get());
    promise
}

/// Returns true if a filter gets a secret key unless its options say otherwise.
pub(crate) fn default_keyed() -> bool {
    DEFAULT_KEYED.get() == c"yes"
}

/// Returns `None` for `auto`: the planner chooses.
fn layout_named(keyword: &CStr) -> Option<Layout> {
    keyword.to_str().ok()?.parse().ok()
}

/// Returns the most bytes that a key may take.
pub(crate) fn max_bytes_per_key() -> u64 {
    MAX_BYTES_PER_KEY.get()
}

/// Fails if a key may not take this many bytes.
pub(crate) fn check_size(bytes: u64) -> Result<(), Failure> {
    let most = max_bytes_per_key();
    if bytes <= most {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the filter takes {bytes} bytes, but apbf.max-bytes-per-key is {most}: ask for a smaller window or a higher error rate, or raise this config"
    )))
}

fn parse_rate(text: &[u8]) -> Result<f64, Failure> {
    let rate = arguments::real("default-error-rate", text)?;
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err(Failure::new(format!("default-error-rate is {rate}, but must be more than 0 and less than 1")))
    }
}

/// Returns `None` for `auto`.
fn parse_slack(text: &[u8]) -> Result<Option<f64>, Failure> {
    if text.eq_ignore_ascii_case(b"auto") {
        return Ok(None);
    }
    let slack = arguments::real("default-slack", text)?;
    if slack > 0.0 && slack.is_finite() {
        Ok(Some(slack))
    } else {
        Err(Failure::new(format!("default-slack is {slack}, but must be 'auto' or a finite number above 0")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_can_be_the_default_and_auto_is_none_of_them() {
        let layouts: Vec<_> = LAYOUTS_AND_AUTO.iter().map(|keyword| layout_named(keyword)).collect();
        let expected: Vec<_> = [None].into_iter().chain(Layout::ALL.iter().copied().map(Some)).collect();
        assert_eq!(layouts, expected);
    }

    #[test]
    fn rates_and_slacks_out_of_range_are_refused() {
        assert_eq!(parse_rate(b"0.01"), Ok(0.01));
        for text in ["0", "1", "-0.1", "nan", "inf", "", "often"] {
            assert!(parse_rate(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(parse_slack(b"AUTO"), Ok(None));
        assert_eq!(parse_slack(b"0.1"), Ok(Some(0.1)));
        for text in ["0", "-1", "nan", "inf", "", "little"] {
            assert!(parse_slack(text.as_bytes()).is_err(), "{text}");
        }
    }
}
