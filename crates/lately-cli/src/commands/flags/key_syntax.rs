//! How keys are written in flags: numbers of fields, names of columns, delimiters.

use crate::keys::JsonPath;

/// What one flag lists, with commas between.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T: Clone> List<T> {
    /// Joins the lists of a flag that is given several times.
    pub(super) fn joined(lists: &[Self]) -> Vec<T> {
        lists.iter().flat_map(|list| list.0.iter().cloned()).collect()
    }
}

/// The most fields of a range.
const MOST_FIELDS: usize = 1_000;

/// Reads `2,5` and `2-5`.
pub(super) fn field_numbers(text: &str) -> Result<List<usize>, String> {
    let numbers: Result<Vec<Vec<usize>>, String> = text.split(',').map(field_range).collect();
    Ok(List(numbers?.concat()))
}

fn field_range(text: &str) -> Result<Vec<usize>, String> {
    let Some((first, last)) = text.split_once('-').filter(|(first, _)| !first.is_empty()) else {
        return Ok(vec![field_number(text)?]);
    };
    let (first, last) = (field_number(first)?, field_number(last)?);
    if first > last {
        return Err(format!("`{text}` goes backwards; write {last}-{first}"));
    }
    if last - first >= MOST_FIELDS {
        return Err(format!("`{text}` has more than {MOST_FIELDS} fields; write a shorter range"));
    }
    Ok((first..=last).collect())
}

pub(super) fn field_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{text}` is not a field number; the first is 1"))
}

pub(super) fn column_names(text: &str) -> Result<List<String>, String> {
    let names: Result<Vec<String>, String> = text.split(',').map(column_name).collect();
    names.map(List)
}

pub(super) fn column_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("a column needs a name; write for example user,ts".into())
    } else {
        Ok(text.into())
    }
}

pub(super) fn json_paths(text: &str) -> Result<List<JsonPath>, String> {
    JsonPath::list(text).map(List)
}

/// Reads one or more characters, or the escapes `\t`, `\\` and `\x01`.
pub(super) fn delimiter(text: &str) -> Result<List<u8>, String> {
    const EXAMPLES: &str = "write one or more characters, or \\t, \\\\ or \\x01";
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        if first != '\\' {
            bytes.extend_from_slice(first.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        if let Some(after) = rest.strip_prefix('x') {
            let digits =
                after.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or_else(|| format!("`\\x` needs two hexadecimal digits; {EXAMPLES}"))?);
            rest = &after[2..];
        } else if let Some(after) = rest.strip_prefix('t') {
            bytes.push(b'\t');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else if rest.is_empty() && bytes.is_empty() {
            // A backslash alone.
            bytes.push(b'\\');
        } else {
            return Err(format!("`\\` begins no escape here; {EXAMPLES}"));
        }
    }
    if bytes.is_empty() {
        return Err(format!("it is empty; {EXAMPLES}"));
    }
    if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'"' | 0)) {
        return Err(
            "a newline, a carriage return, a quote or NUL cannot be a delimiter; use another character"
                .into(),
        );
    }
    Ok(List(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_numbers_and_ranges() {
        for (text, numbers) in [("2", vec![2]), ("3,1", vec![3, 1]), ("2-4,9,1-1", vec![2, 3, 4, 9, 1])] {
            assert_eq!(field_numbers(text).unwrap().0, numbers);
        }
        for text in ["", "0", "-1", "4-2", "1-", "1-0", "a", "1,", "1-2-3", "1-100000"] {
            assert!(field_numbers(text).is_err(), "{text}");
        }
    }

    #[test]
    fn delimiters_have_escapes() {
        for (text, bytes) in [
            (",", &b","[..]),
            ("\\t", b"\t"),
            ("\t", b"\t"),
            ("\\x01", b"\x01"),
            ("||", b"||"),
            ("\\", b"\\"),
            ("\\\\", b"\\"),
            ("\\x1f\\x1E,", b"\x1f\x1e,"),
            ("→", "→".as_bytes()),
        ] {
            assert_eq!(delimiter(text).unwrap().0, bytes, "{text}");
        }
        for text in ["", "\\n", "\\x", "\\x0", "\\x+1", "\\x00", "\\x0a", "\n", "a\\", "\"", "\\xé0"] {
            assert!(delimiter(text).is_err(), "{text}");
        }
    }
}
