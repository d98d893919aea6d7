//! Writes all mutants of a list into a copy of the sources, each behind a condition, so that one build has them all:
//! `a + b` becomes `(if crate::mutants::on(7) { a - b } else { a + b })`.
//!
//! One difference from cargo-mutants: an operator keeps its operands. With `+` for `*`, `a - b * c` becomes `a - (b + c)`,
//! not `(a - b) + c`.
//!
//! `lately-mutants MUTANTS.json SOURCES COPY` reads the files in SOURCES, writes them in COPY, and prints [`Placed`].
//! MUTANTS.json is a part of what `cargo mutants --list --json` prints, with an `id` in each mutant.

mod find;
mod render;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};

use find::Text;
use render::Region;

/// A mutant of cargo-mutants.
#[derive(Deserialize)]
struct Mutant {
    id: usize,
    file: String,
    genre: String,
    replacement: String,
    span: Span,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

/// Line and column count from 1.
#[derive(Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

/// What was written.
#[derive(Default, Serialize)]
struct Placed {
    /// The mutants that have no condition: those in constants, and operators beside a `let` in a condition.
    left_out: Vec<usize>,
    /// For each file, the bytes of the copy in which an error is the fault of certain mutants.
    regions: BTreeMap<String, Vec<Region>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, list, sources, copy] = &arguments[..] else {
        return Err("three arguments are needed: MUTANTS.json SOURCES COPY".into());
    };
    let mutants: Vec<Mutant> = serde_json::from_str(&std::fs::read_to_string(list)?)?;
    let mut by_file: BTreeMap<String, Vec<Mutant>> = BTreeMap::new();
    for mutant in mutants {
        by_file.entry(mutant.file.clone()).or_default().push(mutant);
    }
    let mut placed = Placed::default();
    for (file, mutants) in by_file {
        let text = Text::new(std::fs::read_to_string(Path::new(sources).join(&file))?);
        let (sites, left_out) = find::sites(&text, mutants)?;
        let (mutated, regions) = render::render(&text, &sites);
        std::fs::write(Path::new(copy).join(&file), mutated)?;
        placed.left_out.extend(left_out);
        placed.regions.insert(file, regions);
    }
    println!("{}", serde_json::to_string(&placed)?);
    Ok(())
}
