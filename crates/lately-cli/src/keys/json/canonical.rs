//! Whole records as keys: the same text for the same JSON, whatever its blanks, its escapes and the order of members.
//!
//! Members are sorted by name, and of several with one name the last one counts. Strings are written with as few
//! escapes as possible. Numbers stay as they are written: two that are the same number only after rounding are not
//! the same record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Each level is parsed again for the one below it.
const MOST_LEVELS: u32 = 128;

/// A name, without its escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Appends the canonical text of a JSON text; returns `None` if it is not JSON.
pub(super) fn append(text: &str, out: &mut Vec<u8>) -> Option<()> {
    append_level(text, 0, out)
}

fn append_level(text: &str, level: u32, out: &mut Vec<u8>) -> Option<()> {
    let text = text.trim_ascii();
    if level >= MOST_LEVELS {
        return None;
    }
    match text.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<Name<'_>, &RawValue> = serde_json::from_str(text).ok()?;
            out.push(b'{');
            for (number, (name, value)) in members.iter().enumerate() {
                out.extend_from_slice(if number > 0 { b"," } else { b"" });
                serde_json::to_writer(&mut *out, &name.0).ok()?;
                out.push(b':');
                append_level(value.get(), level + 1, out)?;
            }
            out.push(b'}');
        }
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push(b'[');
            for (number, value) in elements.iter().enumerate() {
                out.extend_from_slice(if number > 0 { b"," } else { b"" });
                append_level(value.get(), level + 1, out)?;
            }
            out.push(b']');
        }
        b'"' => {
            let text: Cow<'_, str> = serde_json::from_str(text).ok()?;
            serde_json::to_writer(out, &text).ok()?;
        }
        _ => {
            let scalar: &RawValue = serde_json::from_str(text).ok()?;
            out.extend_from_slice(scalar.get().as_bytes());
        }
    }
    Some(())
}
