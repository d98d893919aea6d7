//! Prints plans as a table.

use lately::{Plan, Segment};

use crate::commands::human::human_bytes;

const HEADINGS: [&str; 9] =
    ["layout", "shape", "bits/item", "memory", "rate", "NPWS", "per insert", "per hit", "per miss"];

/// Formats one line per plan; the last three columns are memory accesses.
pub(super) fn text(plans: &[Plan]) -> String {
    let mut rows = vec![HEADINGS.map(String::from)];
    rows.extend(plans.iter().map(row));
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

/// Aligns words to the left and numbers to the right.
fn line(row: &[String; 9], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
        if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
}

fn row(plan: &Plan) -> [String; 9] {
    let (k, l) = (plan.shape.required_matches, plan.shape.window_generations);
    let segment = match plan.shape.segment {
        Segment::Slices { parts } => format!("b={parts}"),
        Segment::Blocks { block_bits, bits_per_block } => format!("B={block_bits} b={bits_per_block}"),
        Segment::Rows { row_bytes, parts } => format!("{row_bytes} bytes b={parts}"),
        Segment::Bins { fingerprint_bits } | Segment::ElasticBins { fingerprint_bits } => {
            format!("{fingerprint_bits}-bit fingerprints")
        }
        other => other.to_string(),
    };
    [
        plan.layout().to_string(),
        format!("k={k} l={l} {segment}"),
        format!("{:.1}", plan.bits_per_item),
        human_bytes(plan.memory_bytes),
        format!("{:.2e}", plan.false_positive_rate),
        format!("{:.3}", plan.npws),
        plan.accesses_per_insert.to_string(),
        format!("{:.1}", plan.accesses.window),
        format!("{:.1}", plan.accesses.absent),
    ]
}
