//! The streams that every contender gets. Items are numbers; contenders get their hashes.

use crate::rivals::Random;

/// Items from here on are in no stream.
pub(super) const STRANGERS: u64 = 1 << 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// No item comes twice.
    Distinct,
    /// Three arrivals in ten repeat one of the last w, chosen uniformly.
    Repeats,
    /// The i-th most frequent of 4w items comes with probability proportional to 1/i.
    Zipf,
    /// Items come eight times on average, within a few hundred arrivals.
    Bursty,
}

impl Stream {
    pub(super) const ALL: [Self; 4] = [Self::Distinct, Self::Repeats, Self::Zipf, Self::Bursty];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Distinct => "distinct",
            Self::Repeats => "30% repeats",
            Self::Zipf => "Zipf",
            Self::Bursty => "bursty",
        }
    }

    /// Returns the first `length` items of the stream for a window of `window`.
    pub(super) fn items(self, window: u64, length: usize) -> Vec<u64> {
        let mut random = Random::new(0x1a7e_1700 + window);
        match self {
            Self::Distinct => (0..length as u64).collect(),
            Self::Repeats => {
                let mut items: Vec<u64> = Vec::with_capacity(length);
                for i in 0..length {
                    let repeats = i > 0 && random.happens(0.3);
                    let back = |random: &mut Random| 1 + random.below(i.min(window as usize));
                    let item = if repeats { items[i - back(&mut random)] } else { i as u64 };
                    items.push(item);
                }
                items
            }
            Self::Zipf => {
                let zipf = Zipf::new(4 * window as usize, 1.0);
                (0..length).map(|_| zipf.draw(&mut random)).collect()
            }
            Self::Bursty => {
                let mut active: Vec<u64> = (0..32).collect();
                let mut fresh = active.len() as u64;
                (0..length)
                    .map(|_| {
                        let place = random.below(active.len());
                        let item = active[place];
                        if random.happens(1.0 / 8.0) {
                            active[place] = fresh;
                            fresh += 1;
                        }
                        item
                    })
                    .collect()
            }
        }
    }
}

/// Draws ranks from 0 on; rank i has a probability proportional to (i + 1)^-exponent.
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    pub(crate) fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=ranks)
            .map(|rank| {
                sum += (rank as f64).powf(-exponent);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        Self { cumulative }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let share = random.unit();
        self.cumulative.partition_point(|&reached| reached <= share) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn distinct_share(stream: Stream) -> f64 {
        let items = stream.items(10_000, 40_000);
        assert_eq!(items, stream.items(10_000, 40_000), "a stream must be the same every time");
        assert!(items.iter().all(|&item| item < STRANGERS));
        items.iter().collect::<HashSet<_>>().len() as f64 / items.len() as f64
    }

    #[test]
    fn streams_have_the_stated_share_of_repeats() {
        assert!((distinct_share(Stream::Distinct) - 1.0).abs() < 1e-12);
        assert!((distinct_share(Stream::Repeats) - 0.7).abs() < 0.02);
        assert!((distinct_share(Stream::Bursty) - 0.125).abs() < 0.01);
        assert!((0.1..0.6).contains(&distinct_share(Stream::Zipf)));
    }

    #[test]
    fn zipf_frequencies_follow_the_law() {
        let zipf = Zipf::new(1000, 1.0);
        let mut random = Random::new(1);
        let mut counts = [0_u32; 1000];
        (0..200_000).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
        // The sum of 1/i to 1000 is 7.485.
        for rank in [0, 1, 9] {
            let expected = 200_000.0 / 7.485 / f64::from(rank + 1);
            assert!((f64::from(counts[rank as usize]) / expected - 1.0).abs() < 0.06, "rank {rank}");
        }
    }
}
