//! Filters in serde formats: as their snapshot's bytes, so there is one format and one decoder.

use alloc::vec::Vec;
use core::fmt;

use ::serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use ::serde::ser::{Serialize, Serializer};

use super::Filter;

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(SnapshotVisitor)
    }
}

struct SnapshotVisitor;

impl<'de> Visitor<'de> for SnapshotVisitor {
    type Value = Filter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a lately snapshot")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Filter, E> {
        Filter::from_bytes(bytes).map_err(E::custom)
    }

    /// Formats without bytes, such as JSON, write them as a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Filter, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
