//! Spans of time in whole milliseconds.

use core::time::Duration;

/// Spans that a filter has are always shorter than 2^64 milliseconds.
pub(crate) fn of(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Spans in serde formats.
#[cfg(feature = "serde")]
pub(crate) mod serialized {
    use core::time::Duration;

    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        super::of(*span).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// A span that may be missing.
#[cfg(feature = "serde")]
#[allow(clippy::ref_option)] // serde passes the field as it is
pub(crate) mod option {
    use core::time::Duration;

    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(super::of).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

/// A range of spans that may be missing.
#[cfg(feature = "serde")]
#[allow(clippy::ref_option)] // serde passes the field as it is
pub(crate) mod range {
    use core::ops::RangeInclusive;
    use core::time::Duration;

    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        range: &Option<RangeInclusive<Duration>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let range = range.as_ref().map(|range| super::of(*range.start())..=super::of(*range.end()));
        range.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<RangeInclusive<Duration>>, D::Error> {
        let range = Option::<RangeInclusive<u64>>::deserialize(deserializer)?;
        Ok(range.map(|range| Duration::from_millis(*range.start())..=Duration::from_millis(*range.end())))
    }
}
