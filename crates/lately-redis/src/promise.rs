//! The promise that a user asks of a filter, and the plan that keeps it.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately::{Builder, Filter, HashFunction, Layout, MAX_WINDOW, Overload, Plan};

use crate::arguments::Arguments;
use crate::configs;
use crate::failure::Failure;
use crate::server::Call;
use crate::value::Value;

/// Number of promises whose plans are remembered: planning is the slowest step of all commands.
const REMEMBERED: usize = 16;

/// The last promises asked for, the latest first.
static PLANS: Mutex<Vec<Planned>> = Mutex::new(Vec::new());

/// Ignores poisoning: a panic does not leave the list half changed.
fn plans() -> MutexGuard<'static, Vec<Planned>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The plan that the running command has waited for.
    static AT_HAND: RefCell<Option<Planned>> = const { RefCell::new(None) };
}

/// The options that were given; the configs supply the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) error_rate: Option<f64>,
    pub(crate) window: Option<u64>,
    span_ms: Option<u64>,
    overload: Option<Overload>,
    slack: Option<f64>,
    layout: Option<Layout>,
    shape: Option<(u32, u32)>,
    seed: Option<u64>,
}

impl Asked {
    /// Reads the arguments that RESERVE and PLAN share.
    pub(crate) fn read<T: AsRef<[u8]>>(arguments: &mut Arguments<'_, T>) -> Result<Self, Failure> {
        let mut asked = Self {
            error_rate: Some(arguments.real("error_rate")?),
            window: Some(arguments.number("window", 1..=MAX_WINDOW)?),
            ..Self::default()
        };
        while let Some(word) = arguments.next() {
            if !asked.read_option(word.as_ref(), arguments)? {
                let word = crate::arguments::shown(word.as_ref());
                return Err(Failure::new(format!(
                    "'{word}' is not an option: options are SPAN, OVERLOAD, SLACK, LAYOUT, SHAPE and SEED"
                )));
            }
        }
        Ok(asked)
    }

    /// Reads the value of the option `word`. Returns false if `word` is not an option.
    pub(crate) fn read_option<T: AsRef<[u8]>>(
        &mut self,
        word: &[u8],
        arguments: &mut Arguments<'_, T>,
    ) -> Result<bool, Failure> {
        match word.to_ascii_uppercase().as_slice() {
            b"SPAN" => put("SPAN", &mut self.span_ms, arguments.number("SPAN", 1..=u64::MAX)?)?,
            b"OVERLOAD" => {
                let words = [("RATE", Overload::KeepRate), ("WINDOW", Overload::KeepWindow)];
                put("OVERLOAD", &mut self.overload, arguments.one_of("OVERLOAD", &words)?)?;
            }
            b"SLACK" => put("SLACK", &mut self.slack, arguments.real("SLACK")?)?,
            b"LAYOUT" => {
                let words = [("SLICES", Layout::Slices), ("BLOCKS", Layout::Blocks), ("ROWS", Layout::Rows)];
                put("LAYOUT", &mut self.layout, arguments.one_of("LAYOUT", &words)?)?;
            }
            b"SHAPE" => {
                let k = arguments.number("SHAPE's k", 1..=u32::MAX)?;
                put("SHAPE", &mut self.shape, (k, arguments.number("SHAPE's l", 1..=u32::MAX)?))?;
            }
            b"SEED" => put("SEED", &mut self.seed, arguments.number("SEED", 0..=u64::MAX)?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the promise; the configs supply the options that were not given.
    pub(crate) fn promise(&self) -> Result<Promise, Failure> {
        if self.overload.is_some() && self.span_ms.is_none() {
            return Err(Failure::new("OVERLOAD needs SPAN: only a time window can be overloaded"));
        }
        let default = Promise::by_default();
        Ok(Promise {
            error_rate: self.error_rate.unwrap_or(default.error_rate),
            window: self.window.unwrap_or(default.window),
            span_ms: self.span_ms,
            overload: self.overload,
            // A given shape determines slack and layout, so their defaults do not apply.
            slack: self.slack.or(default.slack.filter(|_| self.shape.is_none())),
            layout: self.layout.or(default.layout.filter(|_| self.shape.is_none())),
            shape: self.shape,
        })
    }

    /// Builds a new filter that keeps the promise. Fails if it is larger than a key may be.
    pub(crate) fn build(&self, call: &Call<'_>) -> Result<Box<Value>, Failure> {
        let plan = self.promise()?.plan_for(call)?;
        check_size(plan.memory_bytes)?;
        let blueprint = plan.blueprint(HashFunction::Xxh3 { seed: self.seed.unwrap_or(0) });
        Ok(Value::new(|| Filter::from_blueprint(&blueprint))?)
    }
}

/// Sets an option. Fails if it was given before.
pub(crate) fn put<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), Failure> {
    if slot.replace(value).is_some() {
        return Err(Failure::new(format!("{name} is given twice: give it once")));
    }
    Ok(())
}

/// Fails if a key may not take this many bytes.
pub(crate) fn check_size(bytes: u64) -> Result<(), Failure> {
    let most = configs::max_bytes_per_key();
    if bytes <= most {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the filter takes {bytes} bytes, but apbf.max-bytes-per-key is {most}: ask for a smaller window or a higher error rate, or raise this config"
    )))
}

/// Everything that determines a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Promise {
    error_rate: f64,
    window: u64,
    span_ms: Option<u64>,
    overload: Option<Overload>,
    slack: Option<f64>,
    layout: Option<Layout>,
    shape: Option<(u32, u32)>,
}

impl Promise {
    /// The promise of the configs, for filters that are created without options.
    pub(crate) fn by_default() -> Self {
        Self {
            error_rate: configs::default_error_rate(),
            window: configs::default_window(),
            span_ms: None,
            overload: None,
            slack: configs::default_slack(),
            layout: configs::default_layout(),
            shape: None,
        }
    }

    /// Returns the plan that keeps the promise. If it is not remembered and the client can wait, fails with
    /// [`Failure::Unplanned`]: then the client waits while another thread plans. Planning may take a tenth of
    /// a second, and the server has other clients.
    pub(crate) fn plan_for(&self, call: &Call<'_>) -> Result<Plan, Failure> {
        match self.remembered() {
            Some(plan) => plan,
            None if call.may_wait() => Err(Failure::Unplanned(*self)),
            None => self.plan(),
        }
    }

    /// Returns the plan that keeps the promise, from memory if it was asked for lately.
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        self.remembered().unwrap_or_else(|| {
            // Planned without the lock, so that other threads can look up their plans.
            let plan = self.builder().plan().map_err(Failure::from);
            let mut plans = plans();
            plans.truncate(REMEMBERED - 1);
            plans.insert(0, Planned { promise: *self, plan: plan.clone() });
            plan
        })
    }

    fn remembered(&self) -> Option<Result<Plan, Failure>> {
        let at_hand = AT_HAND.with_borrow(|planned| {
            planned.as_ref().filter(|planned| planned.promise == *self).map(|planned| planned.plan.clone())
        });
        if at_hand.is_some() {
            return at_hand;
        }
        let mut plans = plans();
        let place = plans.iter().position(|planned| planned.promise == *self)?;
        plans[..=place].rotate_right(1);
        Some(plans[0].plan.clone())
    }

    fn builder(&self) -> Builder {
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

/// A promise, and its plan or the reason why there is none.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) promise: Promise,
    pub(crate) plan: Result<Plan, Failure>,
}

impl Planned {
    /// Runs `work` with this plan at hand, even if newer plans have replaced it in memory. So a command that
    /// has waited for the plan does not plan again.
    pub(crate) fn at_hand<T>(&self, work: impl FnOnce() -> T) -> T {
        AT_HAND.set(Some(self.clone()));
        let result = work();
        AT_HAND.set(None);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Asked, Failure> {
        let words: Vec<&str> = words.split_whitespace().collect();
        Asked::read(&mut Arguments::new(&words))
    }

    #[test]
    fn options_come_in_any_order_and_case_and_once() {
        let one = read("0.01 1000 SPAN 60000 OVERLOAD RATE SLACK 0.1 LAYOUT ROWS SHAPE 4 12 SEED 7").unwrap();
        let other =
            read("1e-2 1000 seed 7 shape 4 12 layout rows slack .1 overload rate span 60000").unwrap();
        assert_eq!(one, other);
        assert_eq!(one.shape, Some((4, 12)));
        for (words, error) in [
            ("0.01 1000 SPAN 5 SPAN 6", "SPAN is given twice"),
            ("0.01 0", "window is '0'"),
            ("lots 1000", "error_rate is 'lots'"),
            ("0.01 1000 SPAN", "SPAN needs a value"),
            ("0.01 1000 SHAPE 4", "SHAPE's l needs a value"),
            ("0.01 1000 LAYOUT heap", "one of SLICES, BLOCKS, ROWS"),
            ("0.01 1000 FOREVER", "'FOREVER' is not an option"),
            ("0.01", "window needs a value"),
        ] {
            let message = read(words).unwrap_err().to_string();
            assert!(message.contains(error), "{words}: {message}");
        }
        let overload = read("0.01 1000 OVERLOAD RATE").unwrap().promise().unwrap_err();
        assert!(overload.to_string().contains("OVERLOAD needs SPAN"));
    }

    #[test]
    fn a_plan_equals_the_plan_of_the_library_and_is_remembered() {
        let promise = read("0.01 1000 SPAN 60000").unwrap().promise().unwrap();
        let expected = Filter::builder()
            .time_window(Duration::from_secs(60), 1000)
            .false_positive_rate(0.01)
            .plan()
            .unwrap();
        assert_eq!(promise.plan(), Ok(expected));
        assert_eq!(promise.plan(), Ok(expected));
        assert!(read("2 1000").unwrap().promise().unwrap().plan().is_err());
    }
}
