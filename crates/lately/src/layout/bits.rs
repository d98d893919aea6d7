//! Arrays of bits in 64-bit words.

#[inline]
pub(super) fn set(words: &mut [u64], bit: u64) {
    words[(bit / 64) as usize] |= 1 << (bit % 64);
}

#[inline]
pub(super) fn is_set(words: &[u64], bit: u64) -> bool {
    words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
}

/// How many bits of `from..to` are set.
pub(super) fn count_ones(words: &[u64], from: u64, to: u64) -> u64 {
    if from >= to {
        return 0;
    }
    let (first, last) = ((from / 64) as usize, ((to - 1) / 64) as usize);
    let from_mask = u64::MAX << (from % 64);
    let to_mask = u64::MAX >> (63 - (to - 1) % 64);
    if first == last {
        return u64::from((words[first] & from_mask & to_mask).count_ones());
    }
    let between: u64 = words[first + 1..last].iter().map(|word| u64::from(word.count_ones())).sum();
    u64::from((words[first] & from_mask).count_ones())
        + between
        + u64::from((words[last] & to_mask).count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_agrees_with_bit_by_bit_counting_on_every_range() {
        let words = [0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, u64::MAX];
        for from in 0..=192 {
            for to in from..=192 {
                let one_by_one = (from..to).filter(|&bit| is_set(&words, bit)).count() as u64;
                assert_eq!(count_ones(&words, from, to), one_by_one, "{from}..{to}");
            }
        }
    }
}
