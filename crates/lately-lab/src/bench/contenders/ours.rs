//! Our own filters.

use lately::{Builder, Filter, Instructions};

use super::super::task::Task;
use super::Contender;

pub(super) struct Ours {
    name: &'static str,
    filter: Filter,
    /// As planned. Kept, because a plan takes time to compute.
    rate: f64,
    inserted: u64,
    /// If set, the filter was told to use these, and takes part in one task only.
    instructions: Option<Instructions>,
}

impl Ours {
    pub(super) fn new(name: &'static str, builder: &Builder, window: u64) -> Self {
        Self::filled(name, builder.build().expect("a valid promise"), window)
    }

    /// The machine must have the instructions.
    pub(super) fn with_instructions(
        name: &'static str,
        builder: &Builder,
        window: u64,
        instructions: Instructions,
    ) -> Self {
        let mut filter = builder.build().expect("a valid promise");
        assert!(filter.set_instructions(instructions), "the machine has no {instructions}");
        Self { instructions: Some(instructions), ..Self::filled(name, filter, window) }
    }

    fn filled(name: &'static str, filter: Filter, window: u64) -> Self {
        let rate = filter.plan().false_positive_rate;
        let mut new = Self { name, filter, rate, inserted: 0, instructions: None };
        let mut seen = vec![false; 10_000];
        while new.inserted < 3 * window {
            let keys: Vec<u64> = (new.inserted..new.inserted + 10_000).collect();
            new.check_and_insert_batch(&keys, &mut seen);
        }
        new
    }
}

impl Contender for Ours {
    fn name(&self) -> &str {
        self.name
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        // The item of a key is its eight bytes, little-endian.
        self.filter.check_and_insert_batch(as_items(keys), seen);
        self.inserted += keys.len() as u64;
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        self.filter.check_and_insert_batch(strings, seen);
        self.inserted += strings.len() as u64;
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains(key.to_le_bytes())
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.filter.contains(key.to_le_bytes())).count()
    }

    fn memory_bytes(&self) -> u64 {
        self.filter.plan().memory_bytes
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn takes_part(&self, task: Task) -> bool {
        self.instructions.is_none() || task == Task::CheckAndInsertBatch
    }
}

/// Returns the keys as arrays of bytes, without copying them.
fn as_items(keys: &[u64]) -> &[KeyBytes] {
    const { assert!(cfg!(target_endian = "little"), "keys would hash differently") };
    // SAFETY: `KeyBytes` is a transparent array of eight bytes. A `u64` is also eight initialized bytes, with
    // a stricter alignment.
    #[allow(unsafe_code)]
    unsafe {
        core::slice::from_raw_parts(keys.as_ptr().cast(), keys.len())
    }
}

#[repr(transparent)]
struct KeyBytes([u8; 8]);

impl lately::Item for KeyBytes {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(&self.0)
    }
}
