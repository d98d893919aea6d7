//! Bins with the vectors of WebAssembly: a line is four vectors.
//!
//! A module has them or not when it is compiled, and an engine without them refuses it. So they take the place of the
//! portable code there, instead of being one more choice, which would double the code for each operation.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::arch::wasm32::{
    i8x16_bitmask, i8x16_eq, i8x16_narrow_i16x8, i8x16_splat, i16x8_eq, i16x8_splat, u64x2, v128,
};

use super::kernel::Line;

/// Words in a vector.
const VECTOR: usize = 2;

#[inline(always)]
fn load(line: &Line, vector: usize) -> v128 {
    u64x2(line[vector * VECTOR], line[vector * VECTOR + 1])
}

#[inline(always)]
pub(super) fn equal_lanes<const LANE: u32>(line: &Line, fingerprint: u64) -> u64 {
    let sixteen = |quarter: u32, equal: v128| u64::from(i8x16_bitmask(equal)) << (quarter * 16);
    if LANE == 16 {
        let wanted = i16x8_splat(fingerprint as i16);
        let equal = |vector| i16x8_eq(load(line, vector), wanted);
        sixteen(0, i8x16_narrow_i16x8(equal(0), equal(1)))
            | sixteen(1, i8x16_narrow_i16x8(equal(2), equal(3)))
    } else {
        let wanted = i8x16_splat(fingerprint as i8);
        (0..4).fold(0, |all, vector| all | sixteen(vector, i8x16_eq(load(line, vector as usize), wanted)))
    }
}
