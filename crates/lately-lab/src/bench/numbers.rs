//! Times the batch call on the decimal texts of numbers from a file. `benchmarks/python.py` compares the
//! Python package with it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use lately::Filter;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

/// A number's decimal text, ready to be hashed.
struct Decimal {
    len: u8,
    bytes: [u8; 20],
}

impl Decimal {
    fn new(number: u64) -> io::Result<Self> {
        let mut bytes = [0; 20];
        let mut rest = &mut bytes[..];
        write!(rest, "{number}")?;
        let len = 20 - rest.len() as u8;
        Ok(Self { len, bytes })
    }
}

impl lately::Item for Decimal {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(&self.bytes[..usize::from(self.len)])
    }
}

/// Reads a file of little-endian `u64`s. Prints how long `check_and_insert_batch` takes for all of them, how
/// many were seen, and a digest of the answers.
pub(crate) fn run(file: &Path, window: u64, rate: f64) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let numbers = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
    let texts = numbers.map(Decimal::new).collect::<io::Result<Vec<_>>>()?;
    let mut filter = Filter::builder()
        .window(window)
        .false_positive_rate(rate)
        .build()
        .map_err(|refused| io::Error::other(refused.to_string()))?;
    let mut seen = vec![false; texts.len()];
    let start = Instant::now();
    filter.check_and_insert_batch(&texts, &mut seen);
    let seconds = start.elapsed().as_secs_f64();
    let answers: Vec<u8> = seen.iter().map(|&seen| u8::from(seen)).collect();
    let (count, digest) = (seen.iter().filter(|&&seen| seen).count(), format!("{:016x}", xxh3_64(&answers)));
    println!("{}", json!({ "seconds": seconds, "seen": count, "digest": digest }));
    Ok(())
}
