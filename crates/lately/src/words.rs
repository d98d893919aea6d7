//! The words for settings that have a few possible values: the same in Rust, in flags, in arguments of commands, in
//! keywords of Python, and in JSON.

use alloc::string::String;
use core::fmt;

/// The error of parsing a word that names no value of a setting; it lists the words that do.
///
/// ```
/// use lately::{Layout, Overload};
///
/// assert_eq!("Rows".parse(), Ok(Layout::Rows));
/// assert_eq!("keep_rate".parse(), Ok(Overload::KeepRate));
/// let error = "heap".parse::<Layout>().unwrap_err();
/// assert_eq!(error.to_string(), "'heap' is not a possible layout: use slices, blocks or rows");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownWord {
    /// The setting, for example "layout".
    pub setting: &'static str,
    /// The word that was found.
    pub word: String,
    /// The words that are possible.
    pub possible: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, word, possible } = self;
        write!(f, "'{word}' is not a possible {setting}: use ")?;
        for (i, word) in possible.iter().enumerate() {
            let separator = match possible.len() - i {
                _ if i == 0 => "",
                1 => " or ",
                _ => ", ",
            };
            write!(f, "{separator}{word}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownWord {}

/// Gives an enum its words: `Display`, `FromStr` (in any case), and the list of all values.
macro_rules! words {
    ($name:ident, $setting:literal: $($value:ident = $word:literal),+) => {
        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// Returns the word for this value.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.word())
            }
        }

        impl core::str::FromStr for $name {
            type Err = crate::words::UnknownWord;

            /// Upper and lower case are equal.
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().find(|value| value.word().eq_ignore_ascii_case(word));
                found.copied().ok_or_else(|| crate::words::UnknownWord {
                    setting: $setting,
                    word: word.into(),
                    possible: &[$($word),+],
                })
            }
        }
    };
}
pub(crate) use words;
