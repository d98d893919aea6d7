//! `APBF.INSERT`: adds items, and creates the filter with the given options if the key is missing.

use lately::MAX_WINDOW;

use super::add::Addition;
use super::options::{OPTIONS, Options, set_once};
use crate::arguments::{Arguments, shown};
use crate::replication::Refresh;
use crate::server::{
    Argument, BlockingCommand, Call, Description, Failure, KeyUse, Outcome, Parameter, Reply,
};

pub(super) struct Insert;

impl BlockingCommand for Insert {
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
            Parameter::word(c"nx", c"NX").optional(),
            Parameter::word(c"nocreate", c"NOCREATE").optional(),
            Parameter::ITEMS.after(c"ITEMS"),
        ],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Outcome<Reply>, Failure> {
        let (key, rest) = call.key_and_rest()?;
        let Wanted { options, refresh, may_create, items } = Wanted::read(rest)?;
        let mut are_new = vec![false; items.len()];
        let outcome =
            Addition { key, items, refresh, if_missing: may_create.then_some(&options), is_plain: false }
                .run(call, &mut are_new)?;
        Ok(outcome.map(|()| are_new.into()))
    }
}

struct Wanted<'a> {
    options: Options,
    refresh: Refresh,
    may_create: bool,
    items: &'a [Argument],
}

impl<'a> Wanted<'a> {
    fn read(arguments: &'a [Argument]) -> Result<Self, Failure> {
        let mut arguments = Arguments::new(arguments);
        let mut wanted =
            Self { options: Options::default(), refresh: Refresh::Every, may_create: true, items: &[] };
        while let Some(word) = arguments.next() {
            let word = word.as_ref();
            match word.to_ascii_uppercase().as_slice() {
                b"ERROR" => set_once("ERROR", &mut wanted.options.error_rate, arguments.real("ERROR")?)?,
                b"WINDOW" => {
                    set_once(
                        "WINDOW",
                        &mut wanted.options.window,
                        arguments.number("WINDOW", 1..=MAX_WINDOW)?,
                    )?;
                }
                b"NX" => wanted.refresh = Refresh::First,
                b"NOCREATE" => wanted.may_create = false,
                b"ITEMS" => wanted.items = arguments.rest(),
                _ if wanted.options.read_option(word, &mut arguments)? => {}
                _ => {
                    return Err(Failure::new(format!(
                        "'{}' is not an option: write ITEMS before the items; options are ERROR, WINDOW, SPAN, OVERLOAD, SLACK, LAYOUT, SHAPE, SEED, NX and NOCREATE",
                        shown(word)
                    )));
                }
            }
        }
        if wanted.items.is_empty() {
            return Err(Failure::new("no items: write ITEMS and at least one item at the end"));
        }
        if !wanted.may_create && wanted.options != Options::default() {
            return Err(Failure::new(
                "NOCREATE creates no filter: leave out NOCREATE or the options of a new filter",
            ));
        }
        Ok(wanted)
    }
}
