//! Finds values of a JSON record by path. The record is read once, and no document is built.

mod canonical;
mod path;
mod search;
mod structure;

use std::borrow::Cow;

use super::values::Values;
use crate::csv::BYTE_ORDER_MARK;
pub(crate) use path::JsonPath;
use path::Step;
use search::Search;

/// The wanted paths and their slots.
#[derive(Debug, Default)]
pub(crate) struct JsonPaths {
    root: Node,
    /// The slots for the whole record.
    whole: Vec<usize>,
}

/// The wanted parts of a value.
#[derive(Debug, Default)]
struct Node {
    /// The slots for the value itself.
    slots: Vec<usize>,
    /// Its wanted members, by name.
    members: Vec<(String, Node)>,
    /// Its wanted elements, by index.
    elements: Vec<(usize, Node)>,
}

impl JsonPaths {
    /// The n-th path goes into slot n.
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = &'a JsonPath>) -> Self {
        let (mut root, mut whole) = (Node::default(), Vec::new());
        for (slot, path) in paths.into_iter().enumerate() {
            if path.steps.is_empty() {
                whole.push(slot);
                continue;
            }
            let node = path.steps.iter().fold(&mut root, Node::step);
            node.slots.push(slot);
        }
        Self { root, whole }
    }

    /// Finds nothing if the text is not JSON. A byte order mark at the start, which some programs write, is
    /// not part of the text.
    pub(super) fn find(&self, record: &[u8], values: &mut Values) {
        let text = record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record);
        let found = Search::new(text, record.len() - text.len(), values).run(&self.root);
        if found.is_err() || self.find_whole(text, values).is_none() {
            // A value may have been found before the invalid part.
            values.clear();
        }
    }

    fn find_whole(&self, text: &[u8], values: &mut Values) -> Option<()> {
        if self.whole.is_empty() {
            return Some(());
        }
        let mut key = Vec::new();
        canonical::append(str::from_utf8(text).ok()?, &mut key)?;
        for slot in &self.whole {
            values.set_resolved(*slot, |value| value.extend_from_slice(&key));
        }
        Some(())
    }
}

impl Node {
    fn step(&mut self, step: &Step) -> &mut Self {
        match step {
            Step::Member(name) => child(&mut self.members, name.clone()),
            Step::Element(index) => child(&mut self.elements, *index),
        }
    }

    /// Returns the member with this name, which is in quotes.
    #[inline]
    fn find(&self, quoted: &[u8], may_have_escapes: bool) -> Option<&Self> {
        let name = &quoted[1..quoted.len() - 1];
        let with_name = |name: &[u8]| {
            self.members.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, node)| node)
        };
        if !may_have_escapes || !name.contains(&b'\\') {
            return with_name(name);
        }
        // Names are compared without their escapes.
        let name: Cow<'_, str> = serde_json::from_slice(quoted).ok()?;
        with_name(name.as_bytes())
    }

    #[inline]
    fn element(&self, index: usize) -> Option<&Self> {
        self.elements.iter().find(|(known, _)| *known == index).map(|(_, node)| node)
    }

    /// Forgets the values found in an earlier member of this name: only the last member counts.
    fn unset(&self, values: &mut Values) {
        self.slots.iter().for_each(|slot| values.unset(*slot));
        self.members.iter().for_each(|(_, member)| member.unset(values));
        self.elements.iter().for_each(|(_, element)| element.unset(values));
    }
}

fn child<K: PartialEq>(children: &mut Vec<(K, Node)>, key: K) -> &mut Node {
    let at = children.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        children.push((key, Node::default()));
        children.len() - 1
    });
    &mut children[at].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(paths: &[&str], text: &str) -> Vec<Option<String>> {
        let parsed: Vec<JsonPath> = paths.iter().flat_map(|path| JsonPath::list(path).unwrap()).collect();
        let wanted = JsonPaths::new(&parsed);
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
        JsonPaths::new(&JsonPath::list("id").unwrap()).find(text, &mut found);
        assert_eq!(found.get(text, 0), None);
    }

    #[test]
    fn elements_and_names_with_dots_are_found() {
        let some = |text: &str| Some(text.to_string());
        let record = r#"{"a":{"b":[{"x.y":1},[2,[3]]]},"":4,"e":[],"s":[ "t" , {"u":5} ]}"#;
        let paths = ["a.b[0].\"x.y\"", "a.b[1][1][0]", "\"\"", "e[0]", "s[0]", "s[1].u", "a[0]", "s[2]"];
        let found = values(&paths, record);
        assert_eq!(found, [some("1"), some("3"), some("4"), None, some("t"), some("5"), None, None]);
        assert_eq!(values(&["[1].id"], r#"[{"id":1},{"id":2}]"#), [some("2")]);
        assert_eq!(values(&["a[0]"], r#"{"a":[1],"a":[]}"#), [None]);
    }

    #[test]
    fn the_whole_record_has_one_text_however_it_is_written() {
        let one = r#"{"b":[1.0,{"d":"é","c":null}],"a":"x/y"}"#;
        let other = "{ \"a\" : \"x\\/y\",\t\"b\": [ 1.0 , {\"c\":null,\"d\":\"\\u00e9\"} ] }";
        let canonical = r#"{"a":"x/y","b":[1.0,{"c":null,"d":"é"}]}"#;
        for text in [one, other, canonical] {
            assert_eq!(values(&["."], text), [Some(canonical.to_string())], "{text}");
        }
        assert_ne!(values(&["."], "[1]"), values(&["."], "[1.0]"), "numbers stay as written");
        assert_eq!(values(&["."], r#"{"a":1,"a":2}"#), values(&["."], r#"{"a":2}"#));
        for text in ["", "{", "nul", "[1,]", "\"\u{1}\"", "{\"a\":\"\\ud800\"}"] {
            assert_eq!(values(&["."], text), [None], "{text:?}");
        }
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(values(&["."], &deep(128))[0].is_some());
        assert_eq!(values(&["."], &deep(129)), [None]);
        assert_eq!(values(&["a", "."], &deep(100_000)), [None, None]);
    }

    /// An independent parser says what is JSON, and what a member is.
    fn agrees(text: &[u8]) {
        let ours = {
            let wanted = JsonPaths::new(&JsonPath::list("a,b[1]").unwrap());
            let mut found = Values::new(2);
            wanted.find(text, &mut found);
            [0, 1].map(|slot| found.get(text, slot).map(<[u8]>::to_vec))
        };
        let theirs: Option<serde_json::Value> = serde_json::from_slice(text).ok();
        let expected = [
            theirs.as_ref().and_then(|value| value.get("a")),
            theirs.as_ref().and_then(|value| value.get("b")?.get(1)),
        ];
        for (ours, theirs) in ours.iter().zip(expected) {
            let theirs = theirs.filter(|value| !value.is_null());
            let shown = String::from_utf8_lossy(text);
            match (ours, theirs) {
                (None, None) => {}
                (Some(ours), Some(serde_json::Value::String(theirs))) => {
                    assert_eq!(&String::from_utf8_lossy(ours), theirs, "{shown}");
                }
                (Some(ours), Some(theirs)) => {
                    assert_eq!(
                        &serde_json::from_slice::<serde_json::Value>(ours).unwrap(),
                        theirs,
                        "{shown}"
                    );
                }
                _ => panic!("{shown}: {ours:?} is not {theirs:?}"),
            }
        }
    }

    #[test]
    fn an_independent_parser_agrees_on_what_is_json() {
        // Every sequence of these parts, and the same after enough blanks to cross the ends of chunks.
        let parts = ["{", "}", "[", "]", "\"a\"", "\"b\"", ":", ",", "1", "\"\\\"\"", " ", "null"];
        for len in 0..=5 {
            for number in 0..parts.len().pow(len) {
                let text: String =
                    (0..len).map(|at| parts[number / parts.len().pow(at) % parts.len()]).collect();
                agrees(text.as_bytes());
            }
        }
        for inside in [
            r#"{"a":1,"b":[0,{"a":"x"}]}"#,
            r#"{"\u0061":"\n","c":{"a":2},"b":["\\","\\\""]}"#,
            r#"{"a":"\ud83d\ude00","b":[[],-0.5e+7,true]}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":1,"c":"\u12g4"}"#,
            r#"{"a":1,"c":"tab	"}"#,
            r#"{"a":01}"#,
            r#"{"a":1.}"#,
            r#"{"a":-}"#,
            r#"{"a":1e}"#,
            r#"{"a":tru}"#,
            r#"{"a":1,}"#,
            r#"{"a":1 2}"#,
            r#"{"a" 1}"#,
            r"{a:1}",
            r#"{"a":1]"#,
            r#"{"a":"1}"#,
            r#"{"a":1}\"#,
            r#"{"a":[1,2"#,
            r#"{"c":"long enough that the string ends in the next chunk of sixty-four bytes","a":3}"#,
        ] {
            for blanks in 0..130 {
                agrees(format!("{}{inside}", " ".repeat(blanks)).as_bytes());
                agrees(format!("{{\"z\":\"{}\",{}", "y".repeat(blanks), &inside[1..]).as_bytes());
                agrees(format!("{{\"z\":\"{}\",{}", "\\\\".repeat(blanks), &inside[1..]).as_bytes());
            }
        }
    }

    #[test]
    fn damaged_records_are_found_by_both_parsers() {
        let record = br#"{"z":{"y":[1,"two",{"x":null}]},"a":"va\u006cue","b":[true,-1.5e3,"c"],"long":"0123456789012345678901234567890123456789"}"#;
        for at in 0..record.len() {
            for byte in *b"\"\\{}[]:,0ae \n\x01-." {
                let mut damaged = record.to_vec();
                damaged[at] = byte;
                agrees(&damaged);
                damaged.truncate(at);
                agrees(&damaged);
            }
        }
    }
}
