//! `lately metrics`: prints a model's predictions for a shape.

use clap::{Args, ValueEnum};
use lately::model::{self, Model};
use lately::{Promise, Segment, Shape};
use serde_json::Value;

use super::human::Listing;
use crate::failure::Failure;
use crate::writing::print;

const EXAMPLES: &str = "\
Examples:
  The paper's shape for a rate of one in a thousand, and its exact rate:
    lately metrics --k 12 --l 14 --model paper
    lately metrics --k 12 --l 14 --model exact
  Blocks of one cache line, as JSON:
    lately metrics --k 3 --l 5 --block-bits 512 --bits-per-block 4 --json";

/// Print a model's predictions for a shape at the paper's design load
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Metrics {
    /// How many of the newest segments an insert writes, and how many consecutive matches a query needs
    #[arg(long, allow_negative_numbers = true)]
    k: u32,
    /// How many generations are guaranteed
    #[arg(long, allow_negative_numbers = true)]
    l: u32,
    /// Segments are slices with this number of parts
    #[arg(long, value_name = "b", allow_negative_numbers = true, default_value_t = 1)]
    parts: u32,
    /// Segments are made of blocks of this number of bits: 64 or 512
    #[arg(
        long,
        value_name = "B",
        allow_negative_numbers = true,
        requires = "bits_per_block",
        conflicts_with = "parts"
    )]
    block_bits: Option<u32>,
    /// How many bits an item sets in a block: 1, 2, 4, 8 or 16
    #[arg(long, value_name = "b", allow_negative_numbers = true, requires = "block_bits")]
    bits_per_block: Option<u32>,
    /// Which model predicts the fill of segments
    #[arg(long, default_value = "exact")]
    model: ModelName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModelName {
    /// The model of the paper's tables
    Paper,
    /// The exact model, which agrees with measurements
    Exact,
}

impl Metrics {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let segment = match (self.block_bits, self.bits_per_block) {
            (Some(block_bits), Some(bits_per_block)) => Segment::Blocks { block_bits, bits_per_block },
            _ => Segment::Slices { parts: self.parts },
        };
        let mut promise = Promise::default();
        (promise.shape, promise.segment) = (Some((self.k, self.l)), Some(segment));
        promise.check_given()?;
        let shape = Shape { required_matches: self.k, window_generations: self.l, segment };
        let metrics = model::metrics(
            match self.model {
                ModelName::Paper => Model::Paper,
                ModelName::Exact => Model::Exact,
            },
            &shape,
        );
        let mut json = serde_json::to_value(metrics)
            .map_err(|error| Failure::other(format!("cannot write the metrics as JSON: {error}")))?;
        if let (Value::Object(members), Segment::Slices { .. }) = (&mut json, segment) {
            members.remove("relative_capacity");
        }
        if self.json { print(&format!("{json}\n")) } else { print(&text(&shape, &json)) }
    }
}

/// Formats the same object with one line per number.
fn text(shape: &Shape, json: &Value) -> String {
    let mut listing = Listing::new(24);
    for (name, value) in json.as_object().into_iter().flatten() {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(member, value)| listing.line(&format!("{name} {member}"), value));
            }
            value => listing.line(name, value),
        }
    }
    format!("{shape}\n{}", listing.into_text())
}
