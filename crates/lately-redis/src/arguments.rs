//! Reads numbers and keywords from a command's arguments. Errors name the argument.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::server::Failure;

/// The arguments that have not been read yet.
pub(crate) struct Arguments<'a, T> {
    rest: &'a [T],
}

impl<'a, T: AsRef<[u8]>> Arguments<'a, T> {
    pub(crate) fn new(arguments: &'a [T]) -> Self {
        Self { rest: arguments }
    }

    pub(crate) fn next(&mut self) -> Option<&'a T> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Takes all remaining arguments.
    pub(crate) fn rest(&mut self) -> &'a [T] {
        std::mem::take(&mut self.rest)
    }

    /// Returns the next argument. Fails if there is none.
    pub(crate) fn value_of(&mut self, name: &str) -> Result<&'a T, Failure> {
        self.next().ok_or_else(|| {
            Failure::new(format!("{name} needs a value, but the command ends there: add the value"))
        })
    }

    /// Reads the next argument as a whole number.
    pub(crate) fn integer<N>(&mut self, name: &str, limits: RangeInclusive<N>) -> Result<N, Failure>
    where
        N: FromStr + PartialOrd + Display,
    {
        integer(name, self.value_of(name)?.as_ref(), limits)
    }

    /// Reads the next argument as a real number.
    pub(crate) fn real(&mut self, name: &str) -> Result<f64, Failure> {
        real(name, self.value_of(name)?.as_ref())
    }

    /// Reads the next argument as one of the given keywords.
    pub(crate) fn one_of<'k, V>(
        &mut self,
        name: &str,
        keywords: impl IntoIterator<Item = (&'k str, V)> + Clone,
    ) -> Result<V, Failure> {
        one_of(name, self.value_of(name)?.as_ref(), keywords)
    }
}

pub(crate) fn integer<N>(name: &str, text: &[u8], limits: RangeInclusive<N>) -> Result<N, Failure>
where
    N: FromStr + PartialOrd + Display,
{
    let parsed = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    parsed.filter(|number| limits.contains(number)).ok_or_else(|| {
        let (least, most) = limits.into_inner();
        Failure::new(format!(
            "{name} is '{}', but must be a whole number from {least} to {most}",
            shown(text)
        ))
    })
}

/// Refuses NaN, which Rust parses as a number. The library checks the range.
pub(crate) fn real(name: &str, text: &[u8]) -> Result<f64, Failure> {
    let parsed = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    parsed.filter(|number: &f64| !number.is_nan()).ok_or_else(|| {
        Failure::new(format!("{name} is '{}', but must be a number, for example 0.001", shown(text)))
    })
}

/// Ignores upper and lower case.
fn one_of<'k, V>(
    name: &str,
    text: &[u8],
    keywords: impl IntoIterator<Item = (&'k str, V)> + Clone,
) -> Result<V, Failure> {
    let mut pairs = keywords.clone().into_iter();
    let found = pairs.find(|(keyword, _)| text.eq_ignore_ascii_case(keyword.as_bytes()));
    found.map(|(_, value)| value).ok_or_else(|| {
        let keywords: Vec<String> =
            keywords.into_iter().map(|(keyword, _)| keyword.to_ascii_uppercase()).collect();
        Failure::new(format!("{name} is '{}', but must be one of {}", shown(text), keywords.join(", ")))
    })
}

/// An argument as error replies show it: escaped and cut, so that the reply stays one short line.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = if text.len() > MOST { "..." } else { "" };
    format!("{}{cut}", text[..text.len().min(MOST)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn numbers_are_read_within_their_limits() {
        let mut arguments = Arguments::new(&["5", "7", "0.5", "12"]);
        assert_eq!(arguments.integer("window", 1..=5_u64), Ok(5));
        assert_eq!(
            message(arguments.integer("window", 1..=5_u64)),
            "ERR window is '7', but must be a whole number from 1 to 5"
        );
        assert_eq!(arguments.real("SLACK"), Ok(0.5));
        assert_eq!(arguments.rest(), ["12"]);
        assert_eq!(
            message(arguments.real("SLACK")),
            "ERR SLACK needs a value, but the command ends there: add the value"
        );
    }

    #[test]
    fn an_argument_that_is_not_a_number_is_shown_in_one_short_line() {
        for (text, shown) in [
            (&b"-1"[..], "-1"),
            (b"", ""),
            (b"1e3", "1e3"),
            (b"a\r\nb\xff", r"a\r\nb\xff"),
            (&[b'x'; 41], "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."),
            (b"18446744073709551616", "18446744073709551616"),
        ] {
            let message = message(integer("SPAN", text, 1..=u64::MAX));
            assert_eq!(
                message,
                format!("ERR SPAN is '{shown}', but must be a whole number from 1 to 18446744073709551615")
            );
        }
        for text in ["much", "nan", "-NaN", ""] {
            assert!(message(real("SLACK", text.as_bytes())).contains(&format!("'{text}'")), "{text}");
        }
    }

    #[test]
    fn keywords_are_found_in_any_case() {
        let keywords = [("RATE", 1), ("window", 2)];
        assert_eq!(one_of("OVERLOAD", b"Window", keywords), Ok(2));
        assert_eq!(
            message(one_of("OVERLOAD", b"both", keywords)),
            "ERR OVERLOAD is 'both', but must be one of RATE, WINDOW"
        );
    }
}
