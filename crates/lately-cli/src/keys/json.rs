//! Finds values of a JSON record by dotted path. The record is parsed once, and no document is built.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::values::Values;
use crate::csv::BYTE_ORDER_MARK;

/// The wanted paths and their slots.
#[derive(Debug, Default)]
pub(crate) struct JsonPaths {
    root: Node,
}

/// The wanted parts of a value.
#[derive(Debug, Default)]
struct Node {
    /// The slots for the value itself.
    slots: Vec<usize>,
    /// Its wanted members, by name.
    members: Vec<(String, Node)>,
}

impl JsonPaths {
    /// The n-th path goes into slot n.
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut root = Node::default();
        for (slot, path) in paths.into_iter().enumerate() {
            let node = path.split('.').fold(&mut root, |node, name| node.member(name));
            node.slots.push(slot);
        }
        Self { root }
    }

    /// Finds nothing if the text is not JSON. A byte order mark at the start, which some programs write, is
    /// not part of the text.
    pub(super) fn find(&self, text: &[u8], values: &mut Values) {
        let mut input =
            serde_json::Deserializer::from_slice(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
        let found = Search { node: &self.root, record: text, values }.deserialize(&mut input);
        if found.and_then(|()| input.end()).is_err() {
            // A value may have been found before the invalid part.
            values.clear();
        }
    }
}

impl Node {
    fn member(&mut self, name: &str) -> &mut Self {
        let at = self.members.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.members.push((name.to_string(), Self::default()));
            self.members.len() - 1
        });
        &mut self.members[at].1
    }

    /// Forgets the values found in an earlier member of this name: only the last member counts.
    fn unset(&self, values: &mut Values) {
        self.slots.iter().for_each(|slot| values.unset(*slot));
        self.members.iter().for_each(|(_, member)| member.unset(values));
    }
}

/// Searches the next JSON value for a node's values.
struct Search<'a> {
    node: &'a Node,
    record: &'a [u8],
    values: &'a mut Values,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        if self.node.slots.is_empty() {
            return input.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(input)?.get();
        for &slot in &self.node.slots {
            take(raw, slot, self.record, self.values).map_err(D::Error::custom)?;
        }
        if self.node.members.is_empty() {
            return Ok(());
        }
        // A value that is wanted whole and in part is parsed again for its parts. This is rare.
        serde_json::Deserializer::from_str(raw).deserialize_any(self).map_err(D::Error::custom)
    }
}

/// Stores a value: a string without its quotes and escapes, anything else as written. `null` is not a value.
fn take(raw: &str, slot: usize, record: &[u8], values: &mut Values) -> Result<(), serde_json::Error> {
    match raw.as_bytes() {
        b"null" => {}
        [b'"', inside @ .., b'"'] if memchr::memchr(b'\\', inside).is_some() => {
            let text: Cow<'_, str> = serde_json::from_str(raw)?;
            values.set_resolved(slot, |value| value.extend_from_slice(text.as_bytes()));
        }
        [b'"', inside @ .., b'"'] => values.set(slot, range_in(inside, record)),
        other => values.set(slot, range_in(other, record)),
    }
    Ok(())
}

/// Returns the range of a part within the record. Raw values borrow from the record.
fn range_in(part: &[u8], record: &[u8]) -> std::ops::Range<usize> {
    let start = part.as_ptr() as usize - record.as_ptr() as usize;
    start..start + part.len()
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(found) = map.next_key_seed(MemberOf(self.node))? {
            match found {
                Some(node) => {
                    node.unset(self.values);
                    map.next_value_seed(Search { node, record: self.record, values: self.values })?;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    // A value that is not an object has none of the wanted members.
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a member's name, and returns its node if it is wanted.
struct MemberOf<'a>(&'a Node);

impl<'a, 'de> DeserializeSeed<'de> for MemberOf<'a> {
    type Value = Option<&'a Node>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for MemberOf<'a> {
    type Value = Option<&'a Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.members.iter().find(|(known, _)| known == name).map(|(_, node)| node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(paths: &[&str], text: &str) -> Vec<Option<String>> {
        let wanted = JsonPaths::new(paths.iter().copied());
        Values::texts(paths.len(), text, |record, values| wanted.find(record, values))
    }

    #[test]
    fn values_are_found_by_path() {
        let some = |text: &str| Some(text.to_string());
        let record =
            r#" {"a":[1,{"id":9}],"user":{"name":"x","id":17,"\u0069s":true},"s":"say \"hi\"","n":null} "#;
        assert_eq!(values(&["user.id", "s"], record), [some("17"), some("say \"hi\"")]);
        assert_eq!(values(&["user.is"], record), [some("true")], "names are unescaped too");
        assert_eq!(values(&["user.id.deeper", "a.id", "n", "none"], record), [None, None, None, None]);
        assert_eq!(values(&["a"], record), [some(r#"[1,{"id":9}]"#)]);
        let whole = r#"{"name":"x","id":17,"\u0069s":true}"#;
        assert_eq!(values(&["user", "user.id", "user"], record), [some(whole), some("17"), some(whole)]);
    }

    #[test]
    fn the_last_of_several_members_with_one_name_counts() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(values(&["id"], r#"{"id":1,"id":2}"#), [some("2")]);
        assert_eq!(values(&["id"], r#"{"id":1,"id":null}"#), [None]);
        for last in ["{}", "null", "7", "[]", r#"{"id":null}"#] {
            let record = format!(r#"{{"user":{{"id":1}},"user":{last}}}"#);
            assert_eq!(values(&["user.id"], &record), [None], "{record}");
        }
        let record = r#"{"user":{"id":1,"at":2},"user":{"id":3}}"#;
        assert_eq!(values(&["user.at", "user", "user.id"], record), [None, some(r#"{"id":3}"#), some("3")]);
    }

    #[test]
    fn text_that_is_not_a_json_object_has_no_values() {
        for text in ["", "x", "{\"id\":1", "{\"id\":1}}", "{\"id\":1} x", "[1]", "7", "{\"id\":1,}", "\"id\""]
        {
            assert_eq!(values(&["id"], text), [None], "{text}");
        }
        let mut found = Values::new(1);
        let text = b"{\"id\":\"\xff\"}";
        JsonPaths::new(["id"]).find(text, &mut found);
        assert_eq!(found.get(text, 0), None);
    }
}
