//! The names of the values of settings: the same words in Rust, in flags, in arguments of commands, in
//! keywords of Python, and in JSON (there in lower case only).

use alloc::string::String;
use core::fmt;

/// The error of parsing a text that is not the name of any value of a setting.
///
/// ```
/// use lately::{Layout, Overload};
///
/// assert_eq!("Rows".parse(), Ok(Layout::Rows));
/// assert_eq!("keep_rate".parse(), Ok(Overload::KeepRate));
/// let error = "heap".parse::<Layout>().unwrap_err();
/// assert_eq!(error.to_string(), "'heap' is not a possible layout: use slices, blocks, rows or bins");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownName {
    /// The setting, for example "layout".
    pub setting: &'static str,
    /// The text that was found.
    pub found: String,
    /// The names that are possible.
    pub possible: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, found, possible } = self;
        write!(f, "'{found}' is not a possible {setting}: use ")?;
        for (i, name) in possible.iter().enumerate() {
            let separator = match possible.len() - i {
                _ if i == 0 => "",
                1 => " or ",
                _ => ", ",
            };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

/// Gives an enum's values their names: `Display`, `FromStr` (in any case), and the list of all values.
macro_rules! names {
    ($name:ident, $setting:literal: $($value:ident = $value_name:literal),+) => {
        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// Returns the name of this value.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $value_name,)+
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $name {
            type Err = crate::names::UnknownName;

            /// Upper and lower case are equal.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().find(|value| value.name().eq_ignore_ascii_case(text));
                found.copied().ok_or_else(|| crate::names::UnknownName {
                    setting: $setting,
                    found: text.into(),
                    possible: &[$($value_name),+],
                })
            }
        }
    };
}
pub(crate) use names;
