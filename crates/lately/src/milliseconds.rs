//! Spans of time in serde formats: whole milliseconds.

use core::time::Duration;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::window::milliseconds;

pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    milliseconds(*span).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

/// A span that may be missing.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, milliseconds};

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(milliseconds).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

/// A range of spans that may be missing.
pub(crate) mod range {
    use core::ops::RangeInclusive;

    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, milliseconds};

    pub(crate) fn serialize<S: Serializer>(
        range: &Option<RangeInclusive<Duration>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let range = range.as_ref().map(|range| milliseconds(*range.start())..=milliseconds(*range.end()));
        range.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<RangeInclusive<Duration>>, D::Error> {
        let range = Option::<RangeInclusive<u64>>::deserialize(deserializer)?;
        Ok(range.map(|range| Duration::from_millis(*range.start())..=Duration::from_millis(*range.end())))
    }
}
