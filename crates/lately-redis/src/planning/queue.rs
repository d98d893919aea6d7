//! A queue of tasks that are done one after the other, and the clients that wait for each.

use std::collections::VecDeque;

/// A task and the clients that wait for its result.
#[derive(Debug)]
struct Task<T, W> {
    wanted: T,
    waiting: Vec<W>,
}

/// Tasks in the order in which they were first asked for. A task that several clients ask for is done once.
#[derive(Debug)]
pub(crate) struct Queue<T, W> {
    /// The task in progress. It is finished even if no client waits any more: a client that gave up may ask
    /// again.
    current: Option<Task<T, W>>,
    /// Tasks that are not begun. At least one client waits for each.
    next: VecDeque<Task<T, W>>,
}

impl<T: Copy + PartialEq, W: PartialEq> Queue<T, W> {
    pub(crate) const fn new() -> Self {
        Self { current: None, next: VecDeque::new() }
    }

    /// Returns the number of tasks that are not begun.
    pub(crate) fn len(&self) -> usize {
        self.next.len()
    }

    pub(crate) fn has(&self, wanted: &T) -> bool {
        self.tasks().any(|task| task.wanted == *wanted)
    }

    pub(crate) fn join(&mut self, wanted: T, waiting: W) {
        match self.current.iter_mut().chain(&mut self.next).find(|task| task.wanted == wanted) {
            Some(task) => task.waiting.push(waiting),
            None => self.next.push_back(Task { wanted, waiting: vec![waiting] }),
        }
    }

    /// Removes a client. Returns true if it was waiting. Drops tasks that are not begun and that no client
    /// waits for.
    pub(crate) fn leave(&mut self, waiting: &W) -> bool {
        let count = |queue: &Self| queue.tasks().map(|task| task.waiting.len()).sum::<usize>();
        let before = count(self);
        for task in self.current.iter_mut().chain(&mut self.next) {
            task.waiting.retain(|other| other != waiting);
        }
        let was_waiting = count(self) < before;
        self.next.retain(|task| !task.waiting.is_empty());
        was_waiting
    }

    /// Begins the next task and returns it; `None` if there is none.
    pub(crate) fn begin(&mut self) -> Option<T> {
        self.current = self.next.pop_front();
        self.current.as_ref().map(|task| task.wanted)
    }

    /// Ends the task in progress. Returns the clients that waited for it.
    pub(crate) fn finish(&mut self) -> Vec<W> {
        self.current.take().map_or_else(Vec::new, |task| task.waiting)
    }

    fn tasks(&self) -> impl Iterator<Item = &Task<T, W>> {
        self.current.iter().chain(&self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_several_ask_for_is_done_once_even_if_it_is_already_begun() {
        let mut queue = Queue::new();
        queue.join('a', 1);
        queue.join('b', 2);
        queue.join('a', 3);
        assert_eq!((queue.len(), queue.begin()), (2, Some('a')));
        queue.join('a', 4);
        assert_eq!((queue.len(), queue.has(&'a'), queue.has(&'c')), (1, true, false));
        assert_eq!(queue.finish(), [1, 3, 4]);
        assert!(!queue.has(&'a'));
        assert_eq!((queue.begin(), queue.finish()), (Some('b'), vec![2]));
        assert_eq!(queue.begin(), None);
    }

    #[test]
    fn an_abandoned_task_is_not_begun_but_a_begun_task_is_finished() {
        let mut queue = Queue::new();
        for (wanted, waiting) in [('a', 1), ('b', 2), ('c', 3), ('c', 4)] {
            queue.join(wanted, waiting);
        }
        assert_eq!(queue.begin(), Some('a'));
        for waiting in 1..=3 {
            assert!(queue.leave(&waiting));
            assert!(!queue.leave(&waiting), "{waiting} has already left");
        }
        queue.join('a', 5);
        assert_eq!(queue.finish(), [5]);
        assert_eq!((queue.begin(), queue.finish()), (Some('c'), vec![4]));
        assert_eq!((queue.begin(), queue.finish()), (None, vec![]));
    }
}
