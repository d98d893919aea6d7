//! The filter's operations on items, on hashes, and on many of either. All are made of
//! [`insert_hash`](Filter::insert_hash) and [`contains_hash`](Filter::contains_hash).

use crate::filter::Filter;

impl Filter {
    /// Inserts an item; it is reported for at least the next [`guaranteed_window`](Self::guaranteed_window) inserts,
    /// itself included.
    #[inline]
    pub fn insert<T: AsRef<[u8]>>(&mut self, item: T) {
        self.insert_hash(self.hash_of(item));
    }

    /// Whether the item was inserted lately. `true` for every item of the window; `false` says that it is not in the
    /// window, not that it was never inserted.
    #[inline]
    pub fn contains<T: AsRef<[u8]>>(&self, item: T) -> bool {
        self.contains_hash(self.hash_of(item))
    }

    /// Deduplication where every sighting refreshes: says whether the item was seen lately, and inserts it. An item
    /// is let through again once it has been *silent* for the window.
    #[inline]
    pub fn check_and_insert<T: AsRef<[u8]>>(&mut self, item: T) -> bool {
        self.check_and_insert_hash(self.hash_of(item))
    }

    /// Deduplication where only the first sighting counts: says whether the item was seen lately, and inserts it only
    /// if not. An item is let through about *once per* window however often it comes.
    #[inline]
    pub fn check_or_insert<T: AsRef<[u8]>>(&mut self, item: T) -> bool {
        self.check_or_insert_hash(self.hash_of(item))
    }

    /// [`check_and_insert`](Self::check_and_insert) for a hash of the caller's.
    #[inline]
    pub fn check_and_insert_hash(&mut self, hash: u64) -> bool {
        let seen = self.contains_hash(hash);
        self.insert_hash(hash);
        seen
    }

    /// [`check_or_insert`](Self::check_or_insert) for a hash of the caller's.
    #[inline]
    pub fn check_or_insert_hash(&mut self, hash: u64) -> bool {
        let seen = self.contains_hash(hash);
        if !seen {
            self.insert_hash(hash);
        }
        seen
    }

    /// [`insert`](Self::insert) for each item, in order.
    pub fn insert_batch<T: AsRef<[u8]>>(&mut self, items: &[T]) {
        items.iter().for_each(|item| self.insert(item));
    }

    /// [`contains`](Self::contains) for each item, answered in the same place of `seen`.
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    ///
    /// ```
    /// let mut filter = lately::Filter::builder().window(100).false_positive_rate(1e-9).build()?;
    /// filter.insert_batch(&["a", "b"]);
    /// let mut seen = [false; 3];
    /// filter.contains_batch(&["a", "c", "b"], &mut seen);
    /// assert_eq!(seen, [true, false, true]);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn contains_batch<T: AsRef<[u8]>>(&self, items: &[T], seen: &mut [bool]) {
        answer_each(items, seen, |item| self.contains(item));
    }

    /// [`check_and_insert`](Self::check_and_insert) for each item in order, answered in the same place of `seen`.
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn check_and_insert_batch<T: AsRef<[u8]>>(&mut self, items: &[T], seen: &mut [bool]) {
        answer_each(items, seen, |item| self.check_and_insert(item));
    }

    /// [`check_or_insert`](Self::check_or_insert) for each item in order, answered in the same place of `seen`.
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn check_or_insert_batch<T: AsRef<[u8]>>(&mut self, items: &[T], seen: &mut [bool]) {
        answer_each(items, seen, |item| self.check_or_insert(item));
    }

    /// [`insert_hash`](Self::insert_hash) for each hash, in order.
    pub fn insert_hash_batch(&mut self, hashes: &[u64]) {
        hashes.iter().for_each(|&hash| self.insert_hash(hash));
    }

    /// [`contains_batch`](Self::contains_batch) for hashes of the caller's.
    ///
    /// # Panics
    /// If `hashes` and `seen` differ in length.
    pub fn contains_hash_batch(&self, hashes: &[u64], seen: &mut [bool]) {
        answer_each(hashes, seen, |&hash| self.contains_hash(hash));
    }

    /// [`check_and_insert_batch`](Self::check_and_insert_batch) for hashes of the caller's.
    ///
    /// # Panics
    /// If `hashes` and `seen` differ in length.
    pub fn check_and_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]) {
        answer_each(hashes, seen, |&hash| self.check_and_insert_hash(hash));
    }

    /// [`check_or_insert_batch`](Self::check_or_insert_batch) for hashes of the caller's.
    ///
    /// # Panics
    /// If `hashes` and `seen` differ in length.
    pub fn check_or_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]) {
        answer_each(hashes, seen, |&hash| self.check_or_insert_hash(hash));
    }
}

#[inline]
fn answer_each<T>(asked: &[T], seen: &mut [bool], mut answer: impl FnMut(&T) -> bool) {
    assert!(
        asked.len() == seen.len(),
        "{} items need as many answers, but the slice for them has {}",
        asked.len(),
        seen.len()
    );
    for (asked, seen) in asked.iter().zip(seen) {
        *seen = answer(asked);
    }
}
