//! The module `mutants` of the mutated copy. Not part of any crate here.
//!
//! With `LATELY_MUTANT=7`, mutant 7 is on. With `LATELY_REACHED=FILE`, none is on, and FILE gets the numbers of those whose
//! place was reached. Without either, the code is the original one.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const UNKNOWN: usize = usize::MAX;
const RECORDING: usize = usize::MAX - 1;
/// More than cargo-mutants finds in the core.
const MOST: usize = 16384;

static CHOSEN: AtomicUsize = AtomicUsize::new(UNKNOWN);
static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Returns true if the mutant replaces the original code.
#[inline(always)]
pub(crate) fn on(mutant: usize) -> bool {
    match CHOSEN.load(Relaxed) {
        UNKNOWN => choose(mutant),
        RECORDING => record(mutant),
        chosen => chosen == mutant,
    }
}

#[cold]
#[inline(never)]
fn record(mutant: usize) -> bool {
    REACHED[mutant].store(true, Relaxed);
    false
}

#[cold]
#[inline(never)]
fn choose(mutant: usize) -> bool {
    let mutant_on = std::env::var("LATELY_MUTANT").ok().and_then(|number| number.parse().ok());
    let chosen =
        if std::env::var_os("LATELY_REACHED").is_some() { RECORDING } else { mutant_on.unwrap_or(0) };
    if CHOSEN.swap(chosen, Relaxed) == UNKNOWN && chosen == RECORDING {
        // SAFETY: the function only reads atomics, and writes a file.
        unsafe { atexit(write_reached) };
    }
    on(mutant)
}

// The test programs have no place of ours at their end.
unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn write_reached() {
    if let Some(path) = std::env::var_os("LATELY_REACHED") {
        let reached = (0..MOST).filter(|&mutant| REACHED[mutant].load(Relaxed));
        let lines: std::string::String = reached.map(|mutant| std::format!("{mutant}\n")).collect();
        std::fs::write(path, lines).expect("the file of LATELY_REACHED can be written");
    }
}
