//! The grammar of paths: `a.b[0]."x.y"`. A path `.` is the whole record.

use std::fmt;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Element(usize),
}

/// The way to a value; without steps, the whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPath {
    pub(super) steps: Vec<Step>,
}

/// Writes a path in the spelling with all quotes.
impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str(".");
        }
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::Member(name) => {
                    write!(
                        f,
                        "{}{}",
                        if number > 0 { "." } else { "" },
                        serde_json::Value::from(name.as_str())
                    )?;
                }
            }
        }
        Ok(())
    }
}

const EXAMPLES: &str = "write for example user.id, items[0].sku or \"name.with.dots\"";

impl JsonPath {
    /// Reads paths with commas between them. A comma in quotes belongs to its path.
    pub(crate) fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut paths = Vec::new();
        let mut rest = text;
        loop {
            let (path, after) = Self::first(rest)?;
            paths.push(path);
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => return Ok(paths),
            }
        }
    }

    /// Reads the path at the beginning of a text, and returns what follows it: nothing or a comma.
    fn first(text: &str) -> Result<(Self, &str), String> {
        if let Some(after) = text.strip_prefix('.')
            && (after.is_empty() || after.starts_with(','))
        {
            return Ok((Self { steps: Vec::new() }, after));
        }
        refuse_other_grammars(text)?;
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            rest = match rest.strip_prefix('[') {
                Some(inside) => {
                    let (step, after) = element(inside)?;
                    steps.push(step);
                    after
                }
                None => {
                    let (step, after) = member(rest)?;
                    steps.push(step);
                    after
                }
            };
            match rest.as_bytes().first() {
                None | Some(b',') => return Ok((Self { steps }, rest)),
                Some(b'.') => {
                    rest = &rest[1..];
                    if rest.starts_with('[') {
                        return Err(format!("`.[` has a dot too many; {EXAMPLES}"));
                    }
                }
                Some(b'[') => {}
                Some(_) => return Err(format!("`{rest}` does not follow a dot or a bracket; {EXAMPLES}")),
            }
        }
    }
}

/// People know the paths of other programs: `$.user.id`, `.user.id`, `/user/id`.
fn refuse_other_grammars(text: &str) -> Result<(), String> {
    let Some(rest) = text.strip_prefix(['$', '.', '/']) else { return Ok(()) };
    let names: Vec<&str> = rest.split(['.', '/', ',']).filter(|name| !name.is_empty()).collect();
    let path = if names.is_empty() { "user.id".into() } else { names.join(".") };
    Err(format!("a path begins with a name; write {path} (a name that begins so needs double quotes)"))
}

/// Reads a name, in double quotes or without.
fn member(text: &str) -> Result<(Step, &str), String> {
    if text.starts_with('"') {
        let mut quoted = serde_json::Deserializer::from_str(text).into_iter::<String>();
        return match quoted.next() {
            Some(Ok(name)) => Ok((Step::Member(name), &text[quoted.byte_offset()..])),
            _ => Err(format!("`{text}` is not a name in double quotes, as in JSON; {EXAMPLES}")),
        };
    }
    let end = text.find(['.', '[', ']', ',', '"']).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    if name.is_empty() {
        return Err(format!("a path is names separated by dots; {EXAMPLES}"));
    }
    Ok((Step::Member(name.into()), after))
}

fn element(inside: &str) -> Result<(Step, &str), String> {
    let number = inside.split_once(']').and_then(|(number, after)| Some((number.parse().ok()?, after)));
    let (number, after) =
        number.ok_or_else(|| format!("`[{inside}` is not an index such as [0]; {EXAMPLES}"))?;
    Ok((Step::Element(number), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_and_indexes() {
        let name = |name: &str| Step::Member(name.into());
        for (text, steps) in [
            ("id", vec![name("id")]),
            ("user.id", vec![name("user"), name("id")]),
            ("a.b[0].\"x.y\"", vec![name("a"), name("b"), Step::Element(0), name("x.y")]),
            ("[2][10].é-ü", vec![Step::Element(2), Step::Element(10), name("é-ü")]),
            ("\"$,\\u0041\\\"\"", vec![name("$,A\"")]),
            ("a b.c d", vec![name("a b"), name("c d")]),
            ("a.$id", vec![name("a"), name("$id")]),
            ("\"\"", vec![name("")]),
            (".", vec![]),
        ] {
            assert_eq!(JsonPath::list(text), Ok(vec![JsonPath { steps }]), "{text}");
        }
        let names = |text: &str| JsonPath::list(text).unwrap().len();
        assert_eq!((names("a,b.c,\"x,y\",.,d"), names("a")), (5, 1));
        for text in [
            "",
            "a..b",
            "a.",
            "a,",
            ",a",
            "$.a",
            ".a",
            "/a",
            "$",
            "a[",
            "a[x]",
            "a[-1]",
            "a[1",
            "a]",
            "a[0]b",
            "a.[0]",
            "\"a",
            "\"a\"b",
            "a\"b\"",
            "a[99999999999999999999]",
        ] {
            assert!(JsonPath::list(text).is_err(), "{text}: {:?}", JsonPath::list(text));
        }
    }
}
