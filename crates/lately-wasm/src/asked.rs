//! What JavaScript asks of a filter: its promise and its hash function.

use core::time::Duration;

use lately::{Filter, HashFunction, Layout, Overload, Prefer, Promise};

use crate::failure::Failure;
use crate::numbers::Reader;

/// The options of `new Filter`. The package has checked their types; their values are checked here.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) promise: Promise,
    hash_function: HashFunction,
}

impl Asked {
    /// Reads the numbers that `options.js` writes, in the same order, and after them the bytes of the seed or key.
    pub(crate) fn read(numbers: &mut Reader<'_>) -> Result<Self, Failure> {
        let mut promise = Promise::default();
        promise.window = numbers.next_count();
        promise.span = numbers.next_count().map(Duration::from_millis);
        promise.capacity = numbers.next_count();
        promise.false_positive_rate = numbers.next();
        promise.max_slack = numbers.next();
        promise.max_memory = numbers.next_count();
        let (k, l) = (numbers.next_count(), numbers.next_count());
        promise.shape = k.zip(l).map(|(k, l)| (narrow(k), narrow(l)));
        promise.layout = numbers.next_of(Layout::ALL);
        promise.prefer = numbers.next_of(Prefer::ALL).unwrap_or_default();
        promise.overload = numbers.next_of(Overload::ALL);
        let secret = match numbers.next() {
            None => return Ok(Self { promise, hash_function: HashFunction::default() }),
            Some(length) => numbers.rest().get(..length as usize).unwrap_or_default(),
        };
        let hash_function = match (<[u8; 8]>::try_from(secret), <[u8; 16]>::try_from(secret)) {
            (Ok(seed), _) => HashFunction::Xxh3 { seed: u64::from_le_bytes(seed) },
            (_, Ok(key)) => HashFunction::SipHash13 { key },
            _ => return Err(Failure::internal("a seed has 8 bytes and a key 16")),
        };
        Ok(Self { promise, hash_function })
    }

    pub(crate) fn build(&self) -> Result<Filter, Failure> {
        Ok(Filter::builder().promise(self.promise).hash_function(self.hash_function).build()?)
    }
}

/// What does not fit is too large for any shape.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
