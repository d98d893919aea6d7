//! How long ago an item was inserted.

use super::Filter;
use crate::ageing::AgeRange;
use crate::item::Item;

impl Filter {
    /// Returns how long ago the item was last inserted, or `None` if the filter does not report it.
    ///
    /// Ages are accurate to one generation. A chance match next to the item's own segments can widen the
    /// range by one generation or more. For an item in the window the range contains the true age, except
    /// with at most the probability of a false positive; then the range is too young.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let mut seen = Filter::builder().window(1000).false_positive_rate(1e-6).build()?;
    /// seen.insert("first");
    /// (0..100_u32).for_each(|i| seen.insert(i.to_le_bytes()));
    /// assert!(seen.age_of("first").unwrap().inserts.contains(&100));
    /// assert_eq!(seen.age_of("never"), None);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[must_use]
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }

    /// The same as [`age_of`](Self::age_of), for a hash computed by the caller.
    #[must_use]
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let (newest, oldest) = self.memory.contents().newest_run(hash, &self.ring, &self.ring)?;
        Some(self.ageing.age_range(&self.ring, newest, oldest))
    }
}
