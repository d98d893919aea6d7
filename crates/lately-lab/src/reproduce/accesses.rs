//! Memory accesses per query: counted in an instrumented filter, next to the predictions of the models.

use std::io;
use std::path::Path;

use lately::Shape;
use lately::model::{Model, QueryAccesses, metrics};

use super::figure::Numbers;
use super::paper;
use super::reference::Reference;
use crate::parallel::in_parallel;
use crate::report::{Section, Table};
use crate::rivals::hash_of;

/// The approximate number of bits per segment.
const SEGMENT_BITS: usize = 1 << 19;
const FALSE_POSITIVES_WANTED: u64 = 400;
const LEAST_STRANGERS: u64 = 200_000;
const MOST_STRANGERS: u64 = 60_000_000;

/// A mean with its standard error.
#[derive(Clone, Copy, Default)]
struct Mean {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    fn error(&self) -> f64 {
        let n = self.count as f64;
        ((self.squares / n - self.mean().powi(2)).max(0.0) / (n - 1.0).max(1.0)).sqrt()
    }

    fn show(&self) -> String {
        match self.count {
            0 => "none seen".into(),
            few @ 1..30 => format!("{:.2} (of only {few})", self.mean()),
            _ => format!("{:.2} ± {:.2}", self.mean(), self.error()),
        }
    }
}

struct Counted {
    window: Mean,
    false_positive: Mean,
    absent: Mean,
}

fn count(shape: &Shape) -> Counted {
    let cells = match shape.segment {
        lately::Segment::Blocks { block_bits, .. } => SEGMENT_BITS / block_bits as usize,
        _ => SEGMENT_BITS,
    };
    let mut filter = Reference::new(shape, cells);
    filter.fill();
    let mut counted =
        Counted { window: Mean::default(), false_positive: Mean::default(), absent: Mean::default() };
    // The tables average over the ages 0 to l - 1 with equal weights.
    let window = u64::from(shape.window_generations) * filter.items_per_generation();
    let step = (window / 200_000).max(1) as usize;
    for item in (filter.inserts() - window..filter.inserts()).step_by(step) {
        let (reported, accesses) = filter.query(hash_of(item));
        assert!(reported, "{shape}: item {item} of the window is not reported");
        counted.window.add(accesses.into());
    }
    for key in 0..MOST_STRANGERS {
        if key >= LEAST_STRANGERS && counted.false_positive.count >= FALSE_POSITIVES_WANTED {
            break;
        }
        let (reported, accesses) = filter.query(hash_of(super::STRANGERS + key));
        if reported { &mut counted.false_positive } else { &mut counted.absent }.add(accesses.into());
    }
    counted
}

/// Selects one of the predictions.
type Kind = fn(&QueryAccesses) -> f64;

pub(super) fn report(section: &mut Section, directory: &Path) -> io::Result<()> {
    section.heading("Accesses per query, counted");
    section.paragraph(
        "An instrumented filter of each shape (about 500 000 bits per segment, half full, just before a \
         shift) counts the cells that it reads: bits of slices in table 2, blocks in table 3. Nothing is \
         timed. The tables show means with their standard errors; there are few false positives at the \
         lowest rates. The paper's linear fill is a little too low, and so are its predictions; for blocks \
         both models are the same. (Numbers: accesses.csv)",
    );
    let mut numbers = Numbers::new(&[
        "row",
        "table",
        "window_paper",
        "window_exact",
        "window_measured",
        "window_error",
        "fp_paper",
        "fp_exact",
        "fp_measured",
        "fp_error",
        "absent_paper",
        "absent_exact",
        "absent_measured",
        "absent_error",
    ]);
    for table in [2, 3] {
        let mut shown = Table::new(
            paper::inputs(table).into_iter().map(str::to_owned).chain(
                ["window", "false positive", "absent"]
                    .iter()
                    .flat_map(|what| [format!("{what}: formula"), "exact".into(), "counted".into()]),
            ),
        );
        let shapes = shapes(table);
        let counted = in_parallel(&shapes, |(_, shape)| count(shape));
        for ((row, shape), counted) in shapes.iter().zip(counted) {
            let [paper, exact] = [Model::Paper, Model::Exact].map(|model| metrics(model, shape).accesses);
            let line = &mut shown.row();
            row.split(' ').for_each(|input| {
                line.number(input);
            });
            let mut csv = vec![f64::from(table)];
            let kinds: [(Kind, Mean); 3] = [
                (|a| a.window, counted.window),
                (|a| a.false_positive, counted.false_positive),
                (|a| a.absent, counted.absent),
            ];
            for (of, mean) in kinds {
                line.number(format!("{:.2}", of(&paper)))
                    .number(format!("{:.2}", of(&exact)))
                    .number(mean.show());
                csv.extend([of(&paper), of(&exact), mean.mean(), mean.error()]);
            }
            numbers.row(row, &csv);
        }
        section.paragraph(&format!("Table {table}:"));
        section.table(&shown);
    }
    numbers.write(directory, "accesses")
}

/// Returns the rows of table 2 or 3 with their shapes.
fn shapes(table: u32) -> Vec<(String, Shape)> {
    let mut rows: Vec<String> =
        paper::values().into_iter().filter(|value| value.table == table).map(|value| value.row).collect();
    rows.dedup();
    let shape = |row: String| {
        let inputs: Vec<u32> = row.split(' ').map(|input| input.parse().expect("a whole number")).collect();
        let shape = match inputs[..] {
            [k, l] => Shape::slices(k, l),
            [k, l, block_bits, bits] => Shape::blocks(k, l, block_bits, bits),
            _ => panic!("table {table} has rows of two or four parameters, not {row}"),
        };
        (row, shape)
    };
    rows.into_iter().map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_both_tables_has_a_shape() {
        assert_eq!((shapes(2).len(), shapes(3).len()), (25, 16));
    }

    #[test]
    fn counted_accesses_are_those_of_the_exact_model() {
        for shape in [Shape::slices(4, 3), Shape::slices(7, 28), Shape::blocks(2, 5, 64, 4)] {
            let counted = count(&shape);
            let exact = metrics(Model::Exact, &shape).accesses;
            for (mean, predicted) in [
                (counted.window, exact.window),
                (counted.false_positive, exact.false_positive),
                (counted.absent, exact.absent),
            ] {
                // Five standard errors, and half a percent because the fill of one filter varies.
                let tolerance = 5.0 * mean.error() + 0.005 * predicted;
                assert!((mean.mean() - predicted).abs() < tolerance, "{shape}: {} {predicted}", mean.show());
            }
        }
    }
}
