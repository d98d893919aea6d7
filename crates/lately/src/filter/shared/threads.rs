//! Numbers for the threads that are running, so that each can have a counter that no other thread writes to.

/// Threads with numbers of their own. The others share one more number.
pub(super) const NUMBERED: usize = if cfg!(loom) { 3 } else { 63 };

/// Returns the number of the calling thread, which no other running thread has; or [`NUMBERED`], which several
/// threads may have.
#[inline]
pub(super) fn number_of_this_thread() -> usize {
    imp::number()
}

#[cfg(not(loom))]
mod imp {
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::NUMBERED;

    /// A bit for each number that a thread has.
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    const NOT_ASKED: usize = usize::MAX;

    std::thread_local! {
        // A value without a destructor can be read in one instruction.
        static NUMBER: Cell<usize> = const { Cell::new(NOT_ASKED) };
        static LOAN: Loan = Loan::new();
    }

    /// A number for the life of a thread.
    struct Loan(usize);

    impl Loan {
        /// Takes the lowest number that is free. What its last owner wrote is visible from now on.
        fn new() -> Self {
            let first_free = |taken: u64| taken.trailing_ones() as usize;
            let take = |taken| (first_free(taken) < NUMBERED).then_some(taken | (taken + 1));
            let before = TAKEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
            Self(before.map_or(NUMBERED, first_free))
        }
    }

    impl Drop for Loan {
        fn drop(&mut self) {
            // Other values of this thread that are dropped later may use filters too.
            NUMBER.set(NUMBERED);
            if self.0 < NUMBERED {
                TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
            }
        }
    }

    #[inline]
    pub(super) fn number() -> usize {
        // A value without a destructor can be read until the thread has ended.
        let number = NUMBER.get();
        if number == NOT_ASKED { borrow() } else { number }
    }

    #[cold]
    fn borrow() -> usize {
        let number = LOAN.try_with(|loan| loan.0).unwrap_or(NUMBERED);
        NUMBER.set(number);
        number
    }

    #[cfg(test)]
    mod tests {
        use std::vec::Vec;

        use super::*;

        #[test]
        fn running_threads_have_different_numbers_and_ended_ones_give_theirs_back() {
            for _ in 0..4 {
                let all_there = std::sync::Barrier::new(40);
                let mut numbers: Vec<usize> = std::thread::scope(|scope| {
                    let run = || {
                        let number = number();
                        all_there.wait();
                        assert_eq!(self::number(), number);
                        number
                    };
                    let threads: Vec<_> = (0..40).map(|_| scope.spawn(run)).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                // Other tests run meanwhile, and their threads have numbers too.
                numbers.retain(|&number| number < NUMBERED);
                let count = numbers.len();
                numbers.sort_unstable();
                numbers.dedup();
                assert_eq!(numbers.len(), count, "no number twice");
                assert!(count >= 20, "only {count} of 40 threads have numbers of their own");
            }
        }
    }
}

/// Loom runs all of its threads in one thread of the system, and numbers them itself.
#[cfg(loom)]
mod imp {
    pub(super) fn number() -> usize {
        let id = std::format!("{:?}", loom::thread::current().id());
        let digits: std::string::String = id.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<usize>().map_or(super::NUMBERED, |number| number.min(super::NUMBERED))
    }
}
