//! `reproduce`: recomputes the paper's tables and measures its figures again, next to the models.
//!
//! Writes `tables.json`, one CSV per figure, and the paper's section of the report. All seeds are fixed.

mod accesses;
mod duplicates;
mod figure;
mod fills;
#[path = "../../../lately/tests/paper/mod.rs"]
mod paper;
mod rates;
mod reference;
mod tables;
mod transition;

use std::io;
use std::path::Path;
use std::time::Instant;

use figure::Figure;
use lately::Filter;

use crate::report::{self, Section};

/// The lowest (k, l) of each rate in the paper's table 2.
const LOWEST_PAIRS: [(u32, u32); 5] = [(4, 3), (7, 5), (10, 7), (14, 11), (17, 13)];
/// The pairs near a rate of 0.1 in the same table.
const PAIRS_NEAR_A_TENTH: [(u32, u32); 5] = [(4, 3), (5, 7), (6, 14), (7, 28), (8, 56)];
/// Items from here on are never inserted.
const STRANGERS: u64 = 1 << 50;

/// Measures a figure.
type Make = fn() -> Figure;

/// Recomputes and measures everything, and writes the results into `directory`.
pub(crate) fn run(directory: &Path) -> io::Result<()> {
    report::make_directory(directory)?;
    let start = Instant::now();
    let progress = |what: &str| eprintln!("[{:>4.0} s] {what}", start.elapsed().as_secs_f64());
    let mut section = Section::new("paper", "The paper, line by line");
    section.paragraph(
        "Age-Partitioned Bloom Filters (Shtul, Baquero, Almeida): every printed number, next to the value of \
         the paper's own formulas (paper model) and the true value of the structure (exact model: it uses \
         the real fill instead of a linear one, and its slack counts every way in which an item can be \
         reported). Every figure is measured again.",
    );

    progress("tables 1 to 4");
    tables::report(&mut section, directory)?;

    progress("accesses per query, for all rows of tables 2 and 3");
    accesses::report(&mut section, directory)?;

    section.heading("The figures, measured");
    let figures: [(&str, Make); 8] = [
        ("fill per slice", fills::per_slice),
        ("decay in the transition zone", transition::figure),
        ("rates over 1e4 insertions", rates::figure),
        ("duplication, five rates", duplicates::five_rates),
        ("duplication, five pairs near 0.1", duplicates::five_pairs),
        ("duplication under a Zipf law", duplicates::zipf),
        ("segment designs", fills::designs),
        ("the exact model and the paper's", rates::models),
    ];
    for (name, make) in figures {
        progress(name);
        let figure = make();
        figure.write_csv(directory)?;
        figure.add_to(&mut section);
    }
    section.write(directory)?;
    progress(&format!("report.html, tables.json and the figures' CSV files are in {}", directory.display()));
    Ok(())
}

/// Builds the paper's own design: half full slices.
fn papers_filter(window: u64, (k, l): (u32, u32)) -> Filter {
    Filter::builder().window(window).shape(k, l).build().expect("the paper's shapes are valid")
}

/// Returns the number of inserts after which a filter is in its steady state and just before a shift, its
/// worst moment.
fn inserts_to_worst_moment(filter: &Filter) -> u64 {
    let plan = filter.plan();
    u64::from(plan.shape.segments()) * plan.items_per_generation
}
