//! Finds values of a record with a regular expression: its groups, or the whole match if it has none.

use std::fmt;

use regex::bytes::{CaptureLocations, Regex};

use super::values::Values;

/// A regular expression, and the groups for each slot.
pub(crate) struct Groups {
    regex: Regex,
    /// Memory for the places of a match, which is reused.
    found: CaptureLocations,
    /// Group 0 is the whole match.
    wanted: Vec<usize>,
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups")
            .field("regex", &self.regex)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

impl Groups {
    /// The key has all groups except those that are the time, which are named by name or number. Returns the
    /// groups and how many of them are the key's.
    pub(crate) fn new(regex: &Regex, time_names: &[String]) -> Result<(Self, usize), String> {
        let times: Vec<usize> =
            time_names.iter().map(|name| group_of(regex, name)).collect::<Result<_, _>>()?;
        let mut wanted: Vec<usize> =
            (1..regex.captures_len()).filter(|group| !times.contains(group)).collect();
        if wanted.is_empty() {
            wanted.push(0);
        }
        let of_key = wanted.len();
        wanted.extend(times);
        Ok((Self { regex: regex.clone(), found: regex.capture_locations(), wanted }, of_key))
    }

    /// Finds nothing if the text does not match. A group that took no part in the match is empty.
    pub(super) fn find(&mut self, text: &[u8], values: &mut Values) {
        if self.regex.captures_read(&mut self.found, text).is_none() {
            return;
        }
        for (slot, group) in self.wanted.iter().enumerate() {
            let (start, end) = self.found.get(*group).unwrap_or((0, 0));
            values.set(slot, start..end);
        }
    }
}

fn group_of(regex: &Regex, name: &str) -> Result<usize, String> {
    let by_number = name.parse().ok().filter(|group| (1..regex.captures_len()).contains(group));
    let by_name = || regex.capture_names().position(|group| group == Some(name));
    by_number.or_else(by_name).ok_or_else(|| {
        format!("`{name}` is neither the number nor the name of a group of --key-regex; write for example (?<time>...)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_values() {
        let values = |regex: &str, times: &[&str], text: &str| {
            let times: Vec<String> = times.iter().map(ToString::to_string).collect();
            let (groups, of_key) = Groups::new(&Regex::new(regex).unwrap(), &times).unwrap();
            let groups = std::cell::RefCell::new(groups);
            let slots = of_key + times.len();
            (Values::texts(slots, text, |record, values| groups.borrow_mut().find(record, values)), of_key)
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            values(r"user=(\w+) .* ip=([\d.]+)", &[], "x user=ann z ip=1.2"),
            (vec![some("ann"), some("1.2")], 2)
        );
        assert_eq!(values(r"id-\d+", &[], "x id-17 y"), (vec![some("id-17")], 1));
        assert_eq!(values(r"id-\d+", &[], "x"), (vec![None], 1));
        assert_eq!(values(r"(a)|(b)", &[], "b"), (vec![some(""), some("b")], 2));
        assert_eq!(values(r"(?<t>\d+) (\w+)", &["t"], "17 x"), (vec![some("x"), some("17")], 1));
        assert_eq!(values(r"(\d+) \w+", &["1"], "17 x"), (vec![some("17 x"), some("17")], 1));
        assert!(Groups::new(&Regex::new("(a)").unwrap(), &["2".into()]).is_err());
    }
}
