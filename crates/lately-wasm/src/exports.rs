//! The functions that JavaScript calls. `core.js` in the package is the other side.
//!
//! Numbers of filters, lengths and operations are integers; times are `f64`, JavaScript's numbers, and a negative one
//! means that there is none. A function that may fail returns a number that is not negative, or -1.

#![allow(unreachable_pub)] // exported by name, from a module that nothing uses
#![allow(unsafe_code)] // `no_mangle`: the names are ours alone, in a module that nothing is linked with

use core::time::Duration;

use lately::Filter;

use crate::asked::Asked;
use crate::explorer::{self, Scene};
use crate::failure::Failure;
use crate::numbers::{Reader, Writer};
use crate::operation::Operation;
use crate::state::{Parts, State, attempt, with};
use crate::{clock, items, report};

/// Exports functions by their names. Each runs with the state and may fail.
macro_rules! exported {
    ($($(#[$doc:meta])* fn $name:ident($state:ident $(, $argument:ident: $type:ty)*) $body:block)+) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> i32 {
            attempt(|$state: &mut State| -> Result<i32, Failure> { $body })
        }
    )+};
}

/// Makes room for arguments, and returns where; null if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|state| state.make_input(length))
}

/// Returns where the latest reply is.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    with(|state| state.reply.as_ptr())
}

/// Returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn reply_length() -> usize {
    with(|state| state.reply.len())
}

/// Frees a filter.
#[unsafe(no_mangle)]
pub extern "C" fn filter_free(filter: i32) {
    with(|state| state.filters.remove(filter));
}

/// Frees a scene.
#[unsafe(no_mangle)]
pub extern "C" fn scene_free(scene: i32) {
    with(|state| state.scenes.remove(scene));
}

exported! {
    /// Replies with the names of settings' values.
    fn names(state) {
        report::names(&mut state.reply);
        Ok(0)
    }
    /// Builds a filter from options.
    fn filter_new(state, length: usize) {
        let Parts { input, filters, .. } = state.split(length)?;
        Ok(filters.insert(Asked::read(&mut Reader::new(input))?.build()?))
    }
    /// Loads a snapshot.
    fn filter_from_bytes(state, length: usize) {
        let Parts { input, filters, .. } = state.split(length)?;
        Ok(filters.insert(Filter::from_bytes(input)?))
    }
    /// Replies with a snapshot.
    fn filter_to_bytes(state, filter: i32) {
        let State { filters, reply, .. } = state;
        let filter = filters.get(filter)?;
        reply.clear();
        let length = filter.snapshot_len();
        let needed = usize::try_from(length).map_err(|_| Failure::no_memory(length))?;
        reply.try_reserve_exact(needed).map_err(|_| Failure::no_memory(length))?;
        filter.write_snapshot(|bytes| {
            reply.extend_from_slice(bytes);
            Ok::<(), Failure>(())
        })?;
        Ok(0)
    }
    /// Copies a filter.
    fn filter_copy(state, filter: i32) {
        let copy = state.filters.get(filter)?.try_clone()?;
        Ok(state.filters.insert(copy))
    }
    /// Forgets everything.
    fn filter_clear(state, filter: i32) {
        state.filters.get(filter)?.clear();
        Ok(0)
    }
    /// Applies an operation to the item in the input; returns 1 if it was seen lately.
    fn filter_apply(state, filter: i32, operation: i32, length: usize) {
        let Parts { input, filters, .. } = state.split(length)?;
        let (filter, operation) = (filters.get(filter)?, Operation::numbered(operation)?);
        operation.find_room(filter, 1)?;
        let hash = filter.hash_function().hash(input);
        Ok(operation.apply(filter, hash).into())
    }
    /// Applies an operation to many texts; replies with a byte for each.
    fn filter_apply_texts(state, filter: i32, operation: i32, length: usize, count: usize) {
        let Parts { input, filters, reply, .. } = state.split(length)?;
        items::texts(Operation::numbered(operation)?, filters.get(filter)?, input, count, reply)?;
        Ok(0)
    }
    /// Applies an operation to many items of one width; replies with a byte for each.
    fn filter_apply_fixed(state, filter: i32, operation: i32, length: usize, width: usize) {
        let Parts { input, filters, reply, .. } = state.split(length)?;
        items::fixed(Operation::numbered(operation)?, filters.get(filter)?, input, width, reply)?;
        Ok(0)
    }
    /// Applies an operation to a typed array; replies with a byte for each element.
    fn filter_apply_integers(state, filter: i32, operation: i32, length: usize, kind: i32) {
        let Parts { input, filters, reply, .. } = state.split(length)?;
        items::integers(Operation::numbered(operation)?, filters.get(filter)?, input, kind, reply)?;
        Ok(0)
    }
    /// Returns 1 if the item in the input was seen lately, and replies with its age.
    fn filter_age_of(state, filter: i32, length: usize) {
        let Parts { input, filters, reply, .. } = state.split(length)?;
        let age = filters.get(filter)?.age_of(input);
        let mut reply = Writer::new(reply);
        if let Some(age) = &age {
            report::age(&mut reply, age);
        }
        Ok(age.is_some().into())
    }
    /// Advances to a time of the caller.
    fn filter_advance(state, filter: i32, now_ms: f64, max_jump_ms: f64) {
        let max_jump = (max_jump_ms >= 0.0).then(|| Duration::from_millis(max_jump_ms as u64));
        clock::advance(state.filters.get(filter)?, now_ms as u64, max_jump)?;
        Ok(0)
    }
    /// Advances to the system's time, unless the filter lives on other times.
    fn filter_follow_system(state, filter: i32, system_ms: f64, adds: i32) {
        clock::follow_system(state.filters.get(filter)?, system_ms as u64, adds != 0)?;
        Ok(0)
    }
    /// Replies with what is known without reading the filter's memory.
    fn filter_facts(state, filter: i32) {
        let State { filters, reply, .. } = state;
        report::facts(&mut Writer::new(reply), filters.get(filter)?);
        Ok(0)
    }
    /// Replies with the filter's plan.
    fn filter_plan(state, filter: i32) {
        let State { filters, reply, .. } = state;
        report::plan(&mut Writer::new(reply), &filters.get(filter)?.plan());
        Ok(0)
    }
    /// Replies with the filter's statistics.
    fn filter_statistics(state, filter: i32) {
        let State { filters, reply, .. } = state;
        report::statistics(&mut Writer::new(reply), &filters.get(filter)?.statistics());
        Ok(0)
    }
    /// Replies with the plans for options.
    fn plans(state, length: usize) {
        let Parts { input, reply, .. } = state.split(length)?;
        let plans = Asked::read(&mut Reader::new(input))?.promise.plans()?;
        let mut reply = Writer::new(reply);
        plans.iter().for_each(|plan| report::plan(&mut reply, plan));
        Ok(0)
    }
    /// The page: replies with the capacity of a time window.
    fn capacity(state, per_second: f64, span_ms: f64) {
        let capacity = explorer::capacity(per_second, span_ms)?;
        Writer::new(&mut state.reply).count(capacity);
        Ok(0)
    }
    /// The page: replies with the points of one curve.
    fn curve(state, length: usize) {
        let Parts { input, reply, .. } = state.split(length)?;
        explorer::curve(&mut Reader::new(input), &mut Writer::new(reply))?;
        Ok(0)
    }
    /// The page: builds a small filter to look into.
    fn scene_new(state, length: usize) {
        let Parts { input, scenes, .. } = state.split(length)?;
        Ok(scenes.insert(Scene::read(&mut Reader::new(input))?))
    }
    /// The page: inserts the item in the input; replies with the bits that it has.
    fn scene_insert(state, scene: i32, length: usize) {
        let Parts { input, scenes, reply, .. } = state.split(length)?;
        scenes.get(scene)?.insert(input, &mut Writer::new(reply));
        Ok(0)
    }
    /// The page: asks for the item in the input; replies with what each segment answers.
    fn scene_query(state, scene: i32, length: usize) {
        let Parts { input, scenes, reply, .. } = state.split(length)?;
        scenes.get(scene)?.query(input, &mut Writer::new(reply));
        Ok(0)
    }
    /// The page: advances the clock.
    fn scene_advance(state, scene: i32, now_ms: f64) {
        state.scenes.get(scene)?.advance(now_ms as u64);
        Ok(0)
    }
    /// The page: replies with all segments.
    fn scene_look(state, scene: i32) {
        let State { scenes, reply, .. } = state;
        scenes.get(scene)?.look(&mut Writer::new(reply));
        Ok(0)
    }
    /// The page: asks for so many items that were never inserted; returns how many were mistaken.
    fn scene_measure(state, scene: i32, strangers: i32) {
        Ok(state.scenes.get(scene)?.measure(strangers))
    }
}
