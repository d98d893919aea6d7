//! The paper's four tables: every printed value, with the values of the paper's formulas and of the exact
//! model.
//!
//! The lab includes this file too, for its report. Each of the two uses only some of it.
#![allow(dead_code)]

use lately::Shape;
use lately::model::{Metrics, Model, bloom_bits_per_item, bloom_metrics, metrics};

/// A printed table. Each row is computed from its first columns, the inputs.
struct Table {
    number: u32,
    inputs: usize,
    /// Returns `None` for a column that cannot be computed.
    compute: fn(Model, &[f64]) -> Vec<Option<f64>>,
    csv: &'static str,
}

const TABLES: [Table; 4] = [
    Table {
        number: 1,
        inputs: 1,
        // A Bloom filter has one model.
        compute: |_, row| {
            let m = bloom_metrics(row[0]);
            let k = f64::from(m.hashes);
            let computed =
                [k, m.bits_per_item, m.false_positive_rate, m.accesses_if_reported, m.accesses_if_absent];
            computed.map(Some).to_vec()
        },
        csv: include_str!("table1.csv"),
    },
    Table {
        number: 2,
        inputs: 2,
        compute: |model, row| {
            let m = apbf(model, row[0], row[1]);
            let a = m.accesses;
            let computed =
                [m.false_positive_rate, m.efficiency, a.window, a.false_positive, a.absent, m.npws];
            computed.map(Some).to_vec()
        },
        csv: include_str!("table2.csv"),
    },
    Table {
        number: 3,
        inputs: 4,
        compute: |model, row| {
            let m = apbbf(model, row);
            let same_memory = apbf(model, row[0] * row[3], row[1] * row[3]).false_positive_rate;
            let a = m.accesses;
            let mut computed = [m.false_positive_rate, same_memory].map(Some).to_vec();
            computed.push(m.relative_capacity);
            computed.extend([a.window, a.false_positive, a.absent, m.npws].map(Some));
            computed
        },
        csv: include_str!("table3.csv"),
    },
    Table {
        number: 4,
        inputs: 4,
        // The authors read SWAMP's two columns off a figure of the paper on SWAMP.
        compute: |model, row| {
            let m = apbbf(model, row);
            vec![Some(m.false_positive_rate), None, Some(m.bits_per_item), None, Some(m.npws)]
        },
        csv: include_str!("table4.csv"),
    },
];

/// Why a printed value does not follow from its formula. A test checks each reason.
pub(crate) enum Reason {
    Truncated,
    RoundedUp,
    /// Another computation gives the printed value: in words, and as a function.
    Instead(&'static str, fn() -> f64),
}
pub(crate) use Reason::{Instead, RoundedUp, Truncated};

/// Table, row, column, printed value, value of the formula, reason.
pub(crate) type Misprint = (u32, &'static str, &'static str, &'static str, &'static str, Reason);

/// Every printed value that does not follow from the paper's own formulas, in the order of the tables.
pub(crate) const MISPRINTS: &[Misprint] = &[
    (1, "0.01", "bits/item", "10.09", "10.10", Truncated),
    (1, "0.001", "bits/item", "14.42", "14.43", Truncated),
    (1, "0.0001", "bits/item", "20.19", "20.20", Truncated),
    (1, "0.0001", "actual fp", "0.0000610351", "0.0000610352", Truncated),
    (1, "0.00001", "bits/item", "24.52", "24.53", Truncated),
    (1, "0.00001", "actual fp", "0.0000076293", "0.0000076294", Truncated),
    (2, "4 3", "NPWS", "0.58", "0.63", Instead("the sum of k - 1 = 3 terms", || (1.0 + 0.5 + 0.25) / 3.0)),
    (2, "11 46", "window", "15.24", "15.23", RoundedUp),
    (2, "10 7", "NPWS", "0.28", "0.29", Truncated),
    (2, "13 23", "actual fp", "0.000928", "0.000990", Instead("the rate of (13, 22)", rate_of_13_22)),
    (2, "13 23", "eff", "0.50", "0.49", Instead("from the wrong fp", || efficiency(13, 23, rate_of_13_22()))),
    (2, "17 36", "fp", "18.46", "18.45", RoundedUp),
    (2, "18 16", "window", "18.93", "18.94", Truncated),
    (2, "19 22", "eff", "0.56", "0.47", Instead("fp taken as 0.000001", || efficiency(19, 22, 1e-6))),
    (2, "20 33", "eff", "0.62", "0.52", Instead("fp taken as 0.000001", || efficiency(20, 33, 1e-6))),
    (2, "20 33", "false", "3.68", "3.67", RoundedUp),
    (2, "21 54", "eff", "0.68", "0.57", Instead("fp taken as 0.000001", || efficiency(21, 54, 1e-6))),
];

fn apbf(model: Model, k: f64, l: f64) -> Metrics {
    metrics(model, &Shape::slices(k as u32, l as u32))
}

/// A row that begins with k, l, B, b.
fn apbbf(model: Model, row: &[f64]) -> Metrics {
    metrics(model, &Shape::blocks(row[0] as u32, row[1] as u32, row[2] as u32, row[3] as u32))
}

fn rate_of_13_22() -> f64 {
    apbf(Model::Paper, 13.0, 22.0).false_positive_rate
}

/// Returns the efficiency of (k, l) if its rate were `rate`.
fn efficiency(k: u32, l: u32, rate: f64) -> f64 {
    bloom_bits_per_item(rate) / apbf(Model::Paper, f64::from(k), f64::from(l)).bits_per_item
}

/// One printed value.
pub(crate) struct Value {
    pub(crate) table: u32,
    /// The inputs of the row, as printed.
    pub(crate) row: String,
    pub(crate) column: &'static str,
    pub(crate) printed: &'static str,
    /// By the paper's formulas; `None` if the paper has no formula.
    pub(crate) paper_model: Option<f64>,
    pub(crate) exact_model: Option<f64>,
}

impl Value {
    /// Returns true if the printed digits follow from the paper's formulas; `None` if the paper has no
    /// formula.
    pub(crate) fn agrees(&self) -> Option<bool> {
        self.paper_model.map(|computed| rounded(computed, self.printed) == self.printed)
    }

    /// Returns the entry of [`MISPRINTS`] for this value, if it has one.
    pub(crate) fn misprint(&self) -> Option<&'static Misprint> {
        MISPRINTS.iter().find(|m| (m.0, m.1, m.2) == (self.table, self.row.as_str(), self.column))
    }
}

/// Returns the names of a table's input columns.
pub(crate) fn inputs(table: u32) -> Vec<&'static str> {
    let table = TABLES.iter().find(|candidate| candidate.number == table).expect("one of four");
    let header = table.csv.lines().next().expect("a header");
    header.split(',').take(table.inputs).collect()
}

/// Returns all values, in the order in which they are printed.
pub(crate) fn values() -> Vec<Value> {
    let mut values = Vec::new();
    for table in &TABLES {
        let mut lines = table.csv.lines();
        let columns: Vec<_> = lines.next().expect("a header").split(',').skip(table.inputs).collect();
        for line in lines {
            let cells: Vec<_> = line.split(',').collect();
            let (inputs, printed) = cells.split_at(table.inputs);
            let numbers: Vec<f64> = inputs.iter().map(|cell| cell.parse().expect("a number")).collect();
            let [paper, exact] = [Model::Paper, Model::Exact].map(|model| (table.compute)(model, &numbers));
            assert_eq!([paper.len(), exact.len()], [printed.len(); 2], "table {}: {line}", table.number);
            for (i, &column) in columns.iter().enumerate() {
                values.push(Value {
                    table: table.number,
                    row: inputs.join(" "),
                    column,
                    printed: printed[i],
                    paper_model: paper[i],
                    exact_model: exact[i],
                });
            }
        }
    }
    values
}

/// Returns `computed` rounded down and rounded up to the decimals of `printed`, and where it lies between the
/// two (from 0 to 1).
pub(crate) fn neighbours(computed: f64, printed: &str) -> (String, String, f64) {
    let decimals = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let scale = 10_u64.pow(decimals as u32) as f64;
    let scaled = computed * scale;
    let digits = |integer: f64| format!("{:.decimals$}", integer / scale);
    (digits(scaled.floor()), digits(scaled.ceil()), scaled - scaled.floor())
}

/// Rounds `computed` to the decimals of `printed`. Halves are rounded up, but at a tie (to `f64` precision)
/// either neighbour may be printed.
pub(crate) fn rounded(computed: f64, printed: &str) -> String {
    const TIE: f64 = 1e-9;
    let (below, above, fraction) = neighbours(computed, printed);
    let to_below = fraction < 0.5 - TIE || (fraction < 0.5 + TIE && below == printed);
    if to_below { below } else { above }
}
