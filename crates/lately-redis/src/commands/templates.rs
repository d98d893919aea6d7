//! Templates: which filter is created for a missing key, by the beginning of its name.

use super::keys::no_such_key;
use super::options::Options;
use crate::arguments::{Arguments, shown};
use crate::configs::{self, AutoCreate, Defaults};
use crate::server::{Failure, Module, NotRegistered, TextConfig};

/// Between two templates.
const SEPARATOR: char = ';';

static TEMPLATES: TextConfig<Vec<Template>> = TextConfig::new(c"template", c"", parse);

pub(super) fn register(module: &Module) -> Result<(), NotRegistered> {
    module.text_config::<Defaults, _>(&TEMPLATES)
}

/// Returns the options of the filter for a missing key, if a command that gives no options may create it.
pub(super) fn options_for(key: &[u8]) -> Result<Options, Failure> {
    let auto_create = configs::auto_create();
    if auto_create == AutoCreate::None {
        return Err(no_such_key());
    }
    let templates = TEMPLATES.get().unwrap_or_default();
    match templates.iter().find(|template| template.is_for(key)) {
        Some(template) => Ok(template.options),
        None if auto_create == AutoCreate::All => Ok(Options::default()),
        None => Err(no_such_key()),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Template {
    /// A key, or how keys begin.
    name: String,
    is_prefix: bool,
    options: Options,
}

impl Template {
    fn is_for(&self, key: &[u8]) -> bool {
        if self.is_prefix { key.starts_with(self.name.as_bytes()) } else { key == self.name.as_bytes() }
    }

    /// Reads a template: a name, and the arguments of RESERVE after the key.
    fn parse(text: &str) -> Result<Self, Failure> {
        let refused = |why: String| Failure::new(format!("the template '{}': {why}", shown(text.as_bytes())));
        let mut words = text.split_whitespace();
        let pattern = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let (name, is_prefix) = match pattern.strip_suffix('*') {
            Some(name) => (name, true),
            None => (pattern, false),
        };
        if name.contains('*') {
            return Err(refused("a '*' can only be the last character of the name".into()));
        }
        let options =
            Options::read(&mut Arguments::new(&words)).map_err(|failure| refused(failure.message()))?;
        options.plan().map_err(|failure| refused(failure.message()))?;
        Ok(Self { name: name.into(), is_prefix, options })
    }
}

fn parse(text: &[u8]) -> Result<Vec<Template>, Failure> {
    let text = str::from_utf8(text).map_err(|_| Failure::new("templates must be UTF-8"))?;
    text.split(SEPARATOR).map(str::trim).filter(|text| !text.is_empty()).map(Template::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_template_that_fits_a_key_is_used() {
        let templates =
            parse(b"alerts:* 0.001 0 SPAN 600000; orders 0.01 5000;al* 0.1 10 LAYOUT ROWS ;").unwrap();
        let first = |key: &str| templates.iter().position(|template| template.is_for(key.as_bytes()));
        for (key, expected) in [
            ("alerts:x", Some(0)),
            ("alerts:", Some(0)),
            ("alert", Some(2)),
            ("orders", Some(1)),
            ("orders2", None),
        ] {
            assert_eq!(first(key), expected, "{key}");
        }
        assert_eq!(parse(b" ; "), Ok(vec![]));
        assert!(parse(b"* 0.01 10").unwrap()[0].is_for(b"anything"));
    }

    #[test]
    fn a_template_that_is_not_possible_is_named() {
        for (text, why) in [
            ("a*b 0.01 10", "last character"),
            ("a*", "error_rate needs a value"),
            ("a* 0.01", "window needs a value"),
            ("a* 0.01 0", "needs SPAN"),
            ("a* 7 10", "rate of 7"),
            ("ok 0.01 10; b* 0.01 10 EXPANSION 2", "'b* 0.01 10 EXPANSION 2': 'EXPANSION' is not an option"),
        ] {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
