//! The options of a new filter: how RESERVE, PLAN and INSERT read them, and how `COMMAND DOCS` shows them.

use std::ffi::CStr;
use std::mem::discriminant;
use std::time::Duration;

use lately::{Clock, ConfigError, Filter, HashFunction, Layout, MAX_WINDOW, Overload, Plan, Promise};

use crate::arguments::{Arguments, shown};
use crate::configs;
use crate::planning;
use crate::server::{Failure, Parameter};
use crate::value::Value;

/// The options of a new filter, as `COMMAND DOCS` shows them.
pub(super) const OPTIONS: [Parameter; 5] = [
    Parameter::all_of(
        c"time",
        &[
            Parameter::integer(c"span-ms").after(c"SPAN"),
            Parameter::one_of(
                c"overload",
                &[Parameter::keyword(c"rate", c"RATE"), Parameter::keyword(c"window", c"WINDOW")],
            )
            .after(c"OVERLOAD")
            .optional(),
        ],
    )
    .optional(),
    Parameter::real(c"slack").after(c"SLACK").optional(),
    Parameter::one_of(
        c"layout",
        &[
            Parameter::keyword(c"slices", c"SLICES"),
            Parameter::keyword(c"blocks", c"BLOCKS"),
            Parameter::keyword(c"rows", c"ROWS"),
            Parameter::keyword(c"bins", c"BINS"),
        ],
    )
    .after(c"LAYOUT")
    .optional(),
    Parameter::all_of(c"shape", &[Parameter::integer(c"k"), Parameter::integer(c"l")])
        .after(c"SHAPE")
        .optional(),
    Parameter::one_of(
        c"hash",
        &[Parameter::integer(c"seed").after(c"SEED"), Parameter::keyword(c"keyed", c"KEYED")],
    )
    .optional(),
];

/// How long RESERVE and PLAN take, as `COMMAND DOCS` shows it.
pub(super) const PLANNING_TIME: &CStr = c"O(1), plus about a millisecond if the last plan had other options";

/// The arguments that RESERVE and PLAN share, as `COMMAND DOCS` shows them.
pub(super) const RATE_WINDOW_AND_OPTIONS: [Parameter; 7] = [
    Parameter::real(c"error-rate"),
    Parameter::integer(c"window"),
    OPTIONS[0],
    OPTIONS[1],
    OPTIONS[2],
    OPTIONS[3],
    OPTIONS[4],
];

/// The options that were given; the configs supply the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Options {
    /// `window` is the argument of this name, also with SPAN; 0 for a time window whose memory follows the traffic.
    pub(super) given: Promise,
    hash: Option<Hash>,
}

/// The hash of a new filter. A key is made with the filter, so a template makes another one for each key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hash {
    Seeded(u64),
    Keyed,
}

impl Options {
    /// Reads the arguments that RESERVE and PLAN share.
    pub(super) fn read<T: AsRef<[u8]>>(arguments: &mut Arguments<'_, T>) -> Result<Self, Failure> {
        let mut options = Self::default();
        options.given.false_positive_rate = Some(arguments.real("error_rate")?);
        options.given.window = Some(arguments.integer("window", 0..=MAX_WINDOW)?);
        while let Some(keyword) = arguments.next() {
            if !options.read_option(keyword.as_ref(), arguments)? {
                let keyword = shown(keyword.as_ref());
                return Err(Failure::new(format!(
                    "'{keyword}' is not an option: options are SPAN, OVERLOAD, SLACK, LAYOUT, SHAPE, SEED and KEYED"
                )));
            }
        }
        Ok(options)
    }

    /// Reads the value of the option `keyword`. Returns false if `keyword` is not an option.
    pub(super) fn read_option<T: AsRef<[u8]>>(
        &mut self,
        keyword: &[u8],
        arguments: &mut Arguments<'_, T>,
    ) -> Result<bool, Failure> {
        let given = &mut self.given;
        match keyword.to_ascii_uppercase().as_slice() {
            b"SPAN" => {
                let span = Duration::from_millis(arguments.integer("SPAN", 1..=u64::MAX)?);
                set_once("SPAN", &mut given.span, span)?;
            }
            b"OVERLOAD" => {
                let policies = [Overload::KeepRate, Overload::KeepWindow];
                let keywords = policies.map(|policy| (overload_word(policy), policy));
                set_once("OVERLOAD", &mut given.overload, arguments.one_of("OVERLOAD", keywords)?)?;
            }
            b"SLACK" => set_once("SLACK", &mut given.max_slack, arguments.real("SLACK")?)?,
            b"LAYOUT" => {
                let keywords = Layout::ALL.iter().map(|layout| (layout.name(), *layout));
                set_once("LAYOUT", &mut given.layout, arguments.one_of("LAYOUT", keywords)?)?;
            }
            b"SHAPE" => {
                let k = arguments.integer("SHAPE's k", 1..=u32::MAX)?;
                set_once("SHAPE", &mut given.shape, (k, arguments.integer("SHAPE's l", 1..=u32::MAX)?))?;
            }
            b"SEED" => self.set_hash("SEED", Hash::Seeded(arguments.integer("SEED", 0..=u64::MAX)?))?,
            b"KEYED" => self.set_hash("KEYED", Hash::Keyed)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_hash(&mut self, name: &str, hash: Hash) -> Result<(), Failure> {
        if self.hash.is_some_and(|given| discriminant(&given) != discriminant(&hash)) {
            return Err(Failure::new(
                "SEED and KEYED are both given, but a filter has one hash: give KEYED if senders may be hostile, otherwise SEED",
            ));
        }
        set_once(name, &mut self.hash, hash)
    }

    /// Returns true if the filter gets a secret key.
    pub(super) fn is_keyed(&self) -> bool {
        self.hash.map_or_else(configs::default_keyed, |hash| hash == Hash::Keyed)
    }

    /// Returns the hash of a filter; another one at every call if it has a key.
    fn hash_function(&self) -> Result<HashFunction, Failure> {
        match self.hash {
            _ if self.is_keyed() => Ok(HashFunction::SipHash13 { key: secret_key()? }),
            Some(Hash::Seeded(seed)) => Ok(HashFunction::Xxh3 { seed }),
            _ => Ok(HashFunction::default()),
        }
    }

    /// Returns the promise; the configs supply the options that were not given.
    fn promise(&self) -> Promise {
        let default = configs::default_promise();
        let mut promise = self.given;
        promise.false_positive_rate = promise.false_positive_rate.or(default.false_positive_rate);
        promise.window = promise.window.or(default.window);
        let is_elastic = promise.window == Some(0) && promise.span.is_some();
        if promise.span.is_some() {
            promise.capacity = promise.window.take().filter(|capacity| *capacity > 0);
        }
        // A given shape determines slack and layout, so their defaults do not apply.
        if promise.shape.is_none() {
            promise.max_slack = promise.max_slack.or(default.max_slack);
        }
        // An elastic window has a layout of its own.
        if promise.shape.is_none() && !is_elastic {
            promise.layout = promise.layout.or(default.layout);
        }
        promise.max_memory = is_elastic.then(configs::max_bytes_per_key);
        promise
    }

    /// Plans the filter. Fails if a value is out of range, if the options do not go together, or if no filter
    /// can keep the promise.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        if let (Some(0), None) = (self.given.window, self.given.span) {
            return Err(Failure::new(
                "a window of 0 makes room for whatever comes, which needs SPAN: give the span, or a window of at least 1",
            ));
        }
        planning::plan(&self.promise()).map_err(|error| match error {
            ConfigError::OverloadWithoutTime => {
                Failure::new("OVERLOAD needs SPAN: only a time window can be overloaded")
            }
            ConfigError::ElasticShape => Failure::new(
                "a window of 0 grows and shrinks, which only LAYOUT BINS can, in a shape of its own: give a window, or leave out LAYOUT and SHAPE",
            ),
            ConfigError::ElasticRate { rate, reachable } => Failure::new(format!(
                "error_rate is {rate:e}, but with a window of 0 it can be {reachable:e} or more: ask for that, or give a window"
            )),
            ConfigError::MemoryTooSmall { needed_bytes, max_memory, .. } => Failure::new(format!(
                "the filter takes at least {needed_bytes} bytes, but apbf.max-bytes-per-key is {max_memory}: raise this config"
            )),
            error => error.into(),
        })
    }

    /// Plans and builds the filter. Fails if it is larger than a key may be.
    pub(super) fn build(&self) -> Result<Box<Value>, Failure> {
        let plan = self.plan()?;
        configs::check_size(plan.memory_bytes)?;
        let blueprint = plan.blueprint(self.hash_function()?);
        let memory_bytes = plan.memory_bytes;
        let mut value = Value::new(|| Filter::from_blueprint(&blueprint)).map_err(|_| {
            Failure::new(format!(
                "the filter takes {memory_bytes} bytes, which cannot be allocated: ask for a smaller window or a higher error rate"
            ))
        })?;
        value.change(|filter| filter.set_clock(Clock::System));
        Ok(value)
    }
}

/// Returns a key that nobody can guess.
fn secret_key() -> Result<[u8; 16], Failure> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| {
        Failure::new(format!(
            "the system gave no random bytes for the key of a filter: {error}: allow the server the call getrandom (or /dev/urandom), or leave out KEYED (or apbf.default-keyed)"
        ))
    })?;
    Ok(key)
}

/// Returns the word of an overload policy in arguments and replies. It names what is kept, so it does not say
/// "keep".
pub(super) fn overload_word(overload: Overload) -> &'static str {
    overload.name().trim_start_matches("keep_")
}

/// Sets an option. Fails if it was given before.
pub(super) fn set_once<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), Failure> {
    if slot.replace(value).is_some() {
        return Err(Failure::new(format!("{name} is given twice: give it once")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options, Failure> {
        let words: Vec<&str> = words.split_whitespace().collect();
        Options::read(&mut Arguments::new(&words))
    }

    #[test]
    fn options_come_in_any_order_and_case_and_once() {
        let one = read("0.01 1000 SPAN 60000 OVERLOAD RATE SLACK 0.1 LAYOUT ROWS SHAPE 4 12 SEED 7").unwrap();
        let other =
            read("1e-2 1000 seed 7 shape 4 12 layout rows slack .1 overload rate span 60000").unwrap();
        assert_eq!(one, other);
        assert_eq!(one.given.shape, Some((4, 12)));
        for (words, error) in [
            ("0.01 1000 SPAN 5 SPAN 6", "SPAN is given twice"),
            ("0.01 1000 KEYED keyed", "KEYED is given twice"),
            ("0.01 1000 KEYED SEED 7", "SEED and KEYED are both given"),
            ("0.01 1000 SEED 7 KEYED", "SEED and KEYED are both given"),
            ("0.01 1000 KEYED 7", "'7' is not an option"),
            ("0.01 -1", "window is '-1'"),
            ("lots 1000", "error_rate is 'lots'"),
            ("0.01 1000 SPAN", "SPAN needs a value"),
            ("0.01 1000 SHAPE 4", "SHAPE's l needs a value"),
            ("0.01 1000 LAYOUT heap", "one of SLICES, BLOCKS, ROWS, BINS"),
            ("0.01 1000 FOREVER", "'FOREVER' is not an option"),
            ("0.01", "window needs a value"),
        ] {
            let message = read(words).unwrap_err().to_string();
            assert!(message.contains(error), "{words}: {message}");
        }
        let overload = read("0.01 1000 OVERLOAD RATE").unwrap().plan().unwrap_err();
        assert!(overload.to_string().contains("OVERLOAD needs SPAN"));
        let zero = read("0.01 0").unwrap().plan().unwrap_err();
        assert!(zero.to_string().contains("a window of 0 makes room for whatever comes, which needs SPAN"));
    }

    #[test]
    fn every_filter_with_a_key_has_another_one() {
        let hash_of = |words: &str| read(words).unwrap().hash_function().unwrap();
        assert_eq!(hash_of("0.01 1000"), HashFunction::Xxh3 { seed: 0 });
        assert_eq!(hash_of("0.01 1000 SEED 7"), HashFunction::Xxh3 { seed: 7 });
        let options = read("0.01 1000 keyed").unwrap();
        assert!(options.is_keyed() && !read("0.01 1000 SEED 7").unwrap().is_keyed());
        let [one, other] = [options.hash_function().unwrap(), options.hash_function().unwrap()];
        assert!(one != other && one.is_keyed() && other.is_keyed());
    }

    #[test]
    fn every_layout_and_every_overload_policy_has_its_keyword() {
        for layout in Layout::ALL {
            let options = read(&format!("0.01 1000 LAYOUT {layout}")).unwrap();
            assert_eq!(options.given.layout, Some(*layout));
        }
        for overload in Overload::ALL {
            let options = read(&format!("0.01 1000 SPAN 5 OVERLOAD {}", overload_word(*overload))).unwrap();
            assert_eq!(options.given.overload, Some(*overload));
        }
    }

    #[test]
    fn a_plan_equals_the_plan_of_the_library() {
        let expected = Filter::builder()
            .time_window(Duration::from_secs(60))
            .capacity(1000)
            .false_positive_rate(0.01)
            .plan()
            .unwrap();
        assert_eq!(read("0.01 1000 SPAN 60000").unwrap().plan(), Ok(expected));
        for refused in ["2 1000", "0.01 1000 SHAPE 4 2 SLACK 0.001"] {
            assert!(read(refused).unwrap().plan().is_err(), "{refused}");
        }
    }
}
