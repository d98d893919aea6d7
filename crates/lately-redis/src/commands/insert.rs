//! `APBF.INSERT`: adds items, and creates the filter with the given options if the key is missing.

use lately::MAX_WINDOW;

use super::add::{Addition, IfMissing};
use super::options::{OPTIONS, Options, set_once};
use crate::arguments::{Arguments, shown};
use crate::replication::Refresh;
use crate::server::{Argument, Call, Command, Description, Failure, KeyUse, Parameter, Reply};

pub(super) struct Insert;

impl Command for Insert {
    const DESCRIPTION: Description = Description::new(
        c"apbf.insert",
        c"Adds items. Creates the filter with the given options if the key is missing.",
        Some(KeyUse::Inserts),
        &[
            Parameter::real(c"error-rate").after(c"ERROR").optional(),
            Parameter::integer(c"window").after(c"WINDOW").optional(),
            OPTIONS[0],
            OPTIONS[1],
            OPTIONS[2],
            OPTIONS[3],
            OPTIONS[4],
            Parameter::keyword(c"nx", c"NX").optional(),
            Parameter::keyword(c"nocreate", c"NOCREATE").optional(),
            Parameter::ITEMS.after(c"ITEMS"),
        ],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, rest) = call.key_and_rest()?;
        let InsertArguments { options, refresh, may_create, items } = InsertArguments::read(rest)?;
        let mut are_new = vec![false; items.len()];
        let if_missing = match (may_create, options == Options::default()) {
            (false, _) => IfMissing::Refuse,
            (true, true) => IfMissing::AutoCreate,
            (true, false) => IfMissing::Create(options),
        };
        Addition { key, items, refresh, if_missing, verbatim: false }.run(call, &mut are_new)?;
        Ok(are_new.into())
    }
}

/// The arguments after the key.
struct InsertArguments<'a> {
    options: Options,
    refresh: Refresh,
    may_create: bool,
    items: &'a [Argument],
}

impl<'a> InsertArguments<'a> {
    fn read(arguments: &'a [Argument]) -> Result<Self, Failure> {
        let mut arguments = Arguments::new(arguments);
        let mut read =
            Self { options: Options::default(), refresh: Refresh::Every, may_create: true, items: &[] };
        while let Some(keyword) = arguments.next() {
            let keyword = keyword.as_ref();
            match keyword.to_ascii_uppercase().as_slice() {
                b"ERROR" => {
                    let rate = arguments.real("ERROR")?;
                    set_once("ERROR", &mut read.options.given.false_positive_rate, rate)?;
                }
                b"WINDOW" => {
                    let window = arguments.integer("WINDOW", 0..=MAX_WINDOW)?;
                    set_once("WINDOW", &mut read.options.given.window, window)?;
                }
                b"NX" => read.refresh = Refresh::First,
                b"NOCREATE" => read.may_create = false,
                b"ITEMS" => read.items = arguments.rest(),
                _ if read.options.read_option(keyword, &mut arguments)? => {}
                _ => {
                    return Err(Failure::new(format!(
                        "'{}' is not an option: write ITEMS before the items; options are ERROR, WINDOW, SPAN, OVERLOAD, SLACK, LAYOUT, SHAPE, SEED, KEYED, NX and NOCREATE",
                        shown(keyword)
                    )));
                }
            }
        }
        if read.items.is_empty() {
            return Err(Failure::new("no items: write ITEMS and at least one item at the end"));
        }
        if !read.may_create && read.options != Options::default() {
            return Err(Failure::new(
                "NOCREATE creates no filter: leave out NOCREATE or the options of a new filter",
            ));
        }
        Ok(read)
    }
}
