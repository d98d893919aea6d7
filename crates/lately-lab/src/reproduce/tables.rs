//! The four tables as printed, by the paper's formulas and by the exact model; and SWAMP, measured.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::figure::Numbers;
use super::paper::{self, Instead, RoundedUp, Truncated, Value, rounded};
use crate::report::{Section, Table, scientific};
use crate::rivals::{Rival as _, Swamp, hash_of};

const TITLES: [&str; 4] = [
    "Table 1: Bloom filters",
    "Table 2: age-partitioned Bloom filters",
    "Table 3: age-partitioned blocked Bloom filters",
    "Table 4: compared with SWAMP",
];

pub(super) fn report(section: &mut Section, directory: &Path) -> io::Result<()> {
    let values = paper::values();
    let swamps = measure_swamps(&values);
    let list: Vec<Json> = values.iter().map(to_json).collect();
    fs::write(directory.join("tables.json"), format!("{:#}\n", Json::from(list)))?;

    section.heading("The tables");
    let agreeing = values.iter().filter(|value| value.agrees() == Some(true)).count();
    let compared = values.iter().filter(|value| value.agrees().is_some()).count();
    section.paragraph(&format!(
        "{agreeing} of {compared} printed values follow from the paper's formulas to the last digit. The others:"
    ));
    section.table(&disagreements(&values));
    section.paragraph(
        "Below, each printed column is followed by the values of the paper's formulas and of the exact \
         model, with the same number of digits. Printed values that do not follow from the formulas are \
         marked.",
    );
    for (table, title) in (1..).zip(TITLES) {
        let of_table: Vec<&Value> = values.iter().filter(|value| value.table == table).collect();
        section.heading(title);
        section.table(&side_by_side(&of_table, &swamps));
        section.folded_table(&format!("{title}: all differences"), &differences(&of_table));
    }
    section.paragraph(
        "The authors read the SWAMP columns of table 4 off a figure of another paper; there is no formula \
         for them. Next to them is our SWAMP, measured with a window of 2^16 elements. Fingerprints have \
         whole bits, so two lengths are measured, with rates just above and just below the one in the table; \
         the memory is interpolated between them by the logarithm of the rate. (Numbers: \
         table_4_swamp.csv)",
    );
    section.table(&swamp_table(&swamps));
    write_swamps(&swamps, directory)
}

fn write_swamps(swamps: &[SwampRow], directory: &Path) -> io::Result<()> {
    let mut numbers = Numbers::new(&["row", "rate", "printed_bits", "bits_at_this_rate", "npws_measured"]);
    for swamp in swamps {
        let printed = swamp.printed_bits.parse().expect("printed values are numbers");
        numbers.row(&swamp.row, &[swamp.rate, printed, swamp.bits_per_item(), swamp.measured[1].npws]);
    }
    numbers.write(directory, "table_4_swamp")
}

fn to_json(value: &Value) -> Json {
    json!({
        "table": value.table,
        "row": value.row,
        "column": value.column,
        "printed": value.printed.parse::<f64>().expect("printed values are numbers"),
        "paper_model": value.paper_model,
        "exact_model": value.exact_model,
        "agrees": value.agrees(),
    })
}

fn disagreements(values: &[Value]) -> Table {
    let columns = [
        "table",
        "row",
        "column",
        "printed",
        "formula gives",
        "difference",
        "exact model",
        "the printed digits are",
    ];
    let mut table = Table::new(columns);
    for value in values.iter().filter(|value| value.agrees() == Some(false)) {
        let computed = value.paper_model.expect("a value that does not agree was computed");
        let reason = match value.misprint().map(|misprint| &misprint.5) {
            Some(Truncated) => "cut off, not rounded".into(),
            Some(RoundedUp) => "rounded up; no cause found".into(),
            Some(Instead(what, compute)) => format!("{what}: {}", rounded(compute(), value.printed)),
            None => "not explained".to_owned(),
        };
        let row = &mut table.row();
        row.text(value.table.to_string()).text(value.row.as_str()).text(value.column);
        row.number_if(value.printed, true).number(rounded(computed, value.printed));
        row.number(difference(computed, value.printed));
        row.number(value.exact_model.map_or(String::new(), |exact| rounded(exact, value.printed)));
        row.text(reason);
    }
    table
}

fn difference(computed: f64, printed: &str) -> String {
    let printed: f64 = printed.parse().expect("printed values are numbers");
    let difference = computed - printed;
    // Smaller differences are rounding errors.
    if difference.abs() < 1e-14 { "0".into() } else { format!("{difference:+.2e}") }
}

/// Returns the paper's table, with each printed value followed by the digits of the two models.
fn side_by_side(values: &[&Value], swamps: &[SwampRow]) -> Table {
    let inputs = paper::inputs(values[0].table);
    let of_row = |row: &str| values.iter().filter(|value| value.row == row).copied().collect::<Vec<_>>();
    let mut columns: Vec<String> = inputs.iter().map(ToString::to_string).collect();
    for value in of_row(&values[0].row) {
        columns.push(value.column.to_owned());
        let is_computed = value.paper_model.is_some();
        columns.extend(if is_computed {
            vec!["formula".into(), "exact".into()]
        } else {
            vec!["measured".to_owned()]
        });
    }
    let mut table = Table::new(columns);
    let mut rows: Vec<&str> = values.iter().map(|value| value.row.as_str()).collect();
    rows.dedup();
    for name in rows {
        let row = &mut table.row();
        name.split(' ').for_each(|input| {
            row.number(input);
        });
        for value in of_row(name) {
            row.number_if(value.printed, value.agrees() == Some(false));
            match (value.paper_model, value.exact_model) {
                (Some(paper), Some(exact)) => {
                    row.number(rounded(paper, value.printed)).number(rounded(exact, value.printed));
                }
                _ => {
                    let measured = swamp_value(value, swamps);
                    row.number(measured.map_or(String::new(), |measured| rounded(measured, value.printed)));
                }
            }
        }
    }
    table
}

fn differences(values: &[&Value]) -> Table {
    let mut table = Table::new([
        "row",
        "column",
        "printed",
        "paper model",
        "minus printed",
        "exact model",
        "minus printed",
        "printed follows",
    ]);
    for value in values {
        let row = &mut table.row();
        row.text(value.row.as_str()).text(value.column).number(value.printed);
        for model in [value.paper_model, value.exact_model] {
            row.number(model.map_or(String::new(), |computed| format!("{computed:.10}")));
            row.number(model.map_or(String::new(), |computed| difference(computed, value.printed)));
        }
        let (follows, flagged) = match value.agrees() {
            Some(true) => ("yes", false),
            Some(false) => ("no", true),
            None => ("no formula", false),
        };
        row.number_if(follows, flagged);
    }
    table
}

/// Measurements of our SWAMP for a row of table 4.
struct SwampRow {
    row: String,
    printed_bits: &'static str,
    rate: f64,
    /// With rates just above and just below `rate`.
    measured: [Measured; 2],
}

#[derive(Clone, Copy)]
struct Measured {
    remainder_bits: u32,
    bits_per_item: f64,
    rate: f64,
    /// The share of just-expired items that are reported, minus the rate: the slack, over one window.
    npws: f64,
}

impl SwampRow {
    /// Interpolates between the two measurements, to exactly the rate.
    fn bits_per_item(&self) -> f64 {
        let [above, below] = &self.measured;
        let share = (above.rate / self.rate).ln() / (above.rate / below.rate).ln();
        above.bits_per_item + share * (below.bits_per_item - above.bits_per_item)
    }
}

const SWAMP_WINDOW: u64 = 1 << 16;

fn measure_swamps(values: &[Value]) -> Vec<SwampRow> {
    let rows = values.iter().filter(|value| value.table == 4 && value.column == "SWAMP bits");
    let measured = rows.map(|bits| {
        let is_rate = |value: &&Value| value.table == 4 && value.row == bits.row && value.column == "fp";
        let rate =
            values.iter().find(is_rate).and_then(|value| value.paper_model).expect("table 4 has rates");
        // Each additional bit halves the rate: start with a length that is surely too short.
        let too_short = (expected_swamp_bits(rate) as u32).saturating_sub(1).max(1);
        let mut pair = [too_short, too_short + 1].map(measure_swamp);
        while pair[1].rate > rate {
            pair = [pair[1], measure_swamp(pair[1].remainder_bits + 1)];
        }
        SwampRow { row: bits.row.clone(), printed_bits: bits.printed, rate, measured: pair }
    });
    measured.collect()
}

/// A table of 1.2 slots per item has 1.2 * 2^r fingerprints per item.
fn expected_swamp_bits(rate: f64) -> f64 {
    (1.0 / (1.2 * rate)).log2()
}

fn measure_swamp(remainder_bits: u32) -> Measured {
    let mut swamp = Swamp::with_remainder_bits(SWAMP_WINDOW, remainder_bits);
    let inserts = 3 * SWAMP_WINDOW;
    (0..inserts).for_each(|key| swamp.insert(hash_of(key)));
    // Enough for about two hundred false positives, within limits.
    let strangers = (240.0 * f64::from(remainder_bits).exp2()).clamp(2e5, 1e7) as u64;
    let reported = (0..strangers).filter(|key| swamp.contains(hash_of(super::STRANGERS + key))).count();
    let rate = reported as f64 / strangers as f64;
    let expired = (SWAMP_WINDOW..2 * SWAMP_WINDOW).filter(|&key| swamp.contains(hash_of(key))).count();
    Measured {
        remainder_bits,
        bits_per_item: swamp.memory_bits() as f64 / SWAMP_WINDOW as f64,
        rate,
        npws: (expired as f64 / SWAMP_WINDOW as f64 - rate).max(0.0),
    }
}

fn swamp_value(value: &Value, swamps: &[SwampRow]) -> Option<f64> {
    let swamp = swamps.iter().find(|swamp| value.table == 4 && swamp.row == value.row)?;
    match value.column {
        "SWAMP bits" => Some(swamp.bits_per_item()),
        "SWAMP NPWS" => Some(swamp.measured[1].npws),
        _ => None,
    }
}

fn swamp_table(swamps: &[SwampRow]) -> Table {
    let mut table = Table::new([
        "row",
        "rate",
        "printed bits",
        "bits at this rate",
        "measured: bits",
        "rate",
        "measured: bits",
        "rate",
    ]);
    for swamp in swamps {
        let row = &mut table.row();
        row.text(swamp.row.as_str()).number(scientific(swamp.rate)).number(swamp.printed_bits);
        row.number(format!("{:.1}", swamp.bits_per_item()));
        for measured in &swamp.measured {
            row.number(format!("{:.1}", measured.bits_per_item)).number(scientific(measured.rate));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tables_json_has_every_printed_value_with_the_agreed_keys() {
        let values = paper::values();
        let list: Vec<Json> = values.iter().map(to_json).collect();
        assert_eq!(list.len(), 25 + 150 + 112 + 20);
        let agreed = ["agrees", "column", "exact_model", "paper_model", "printed", "row", "table"];
        for value in &list {
            // Their order depends on the features of `serde_json`, which other crates of the workspace
            // choose.
            let keys: BTreeSet<&str> =
                value.as_object().expect("an object").keys().map(String::as_str).collect();
            assert_eq!(keys, BTreeSet::from(agreed));
        }
        assert_eq!(list.iter().filter(|value| value["agrees"] == false).count(), 17);
        assert_eq!(list.iter().filter(|value| value["agrees"].is_null()).count(), 8, "SWAMP's columns");
        let first_of_table_2 = list.iter().find(|value| value["table"] == 2).expect("table 2");
        assert_eq!(
            (&first_of_table_2["row"], &first_of_table_2["printed"]),
            (&json!("4 3"), &json!(0.100_586))
        );
    }

    #[test]
    fn our_swamp_needs_about_the_memory_that_the_paper_prints() {
        let measured = measure_swamp(5);
        // A rate of 1/(1.2 * 32) = 2.6% with a little more than the 32.0 bits printed next to 2.0%.
        assert!((measured.rate - 0.026).abs() < 0.002, "{}", measured.rate);
        assert!((31.0..34.0).contains(&measured.bits_per_item), "{}", measured.bits_per_item);
        assert!(measured.npws < 0.005);
    }
}
