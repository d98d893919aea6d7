//! Picks the wanted values of a record by their index. Fields of a line and columns of CSV have one.

/// Indexes of values, from 0, and the slots they go into.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// (index, slot), sorted by index.
    places: Vec<(usize, usize)>,
}

impl Wanted {
    /// The n-th index goes into slot n.
    pub(super) fn new(indexes: impl IntoIterator<Item = usize>) -> Self {
        let mut places: Vec<_> = indexes.into_iter().enumerate().map(|(slot, index)| (index, slot)).collect();
        places.sort_unstable();
        Self { places }
    }

    /// Calls `set` with the slot and the value of each wanted index. Stops after the last one.
    #[inline]
    pub(super) fn take<T>(&self, mut values: impl Iterator<Item = T>, mut set: impl FnMut(usize, &T)) {
        // The next index, and the value before it.
        let (mut next, mut last) = (0, None);
        for (index, slot) in &self.places {
            while next <= *index {
                last = values.next();
                next += 1;
                if last.is_none() {
                    return;
                }
            }
            if let Some(value) = &last {
                set(*slot, value);
            }
        }
    }
}
