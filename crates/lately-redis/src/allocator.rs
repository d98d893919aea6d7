//! Memory from the server, so that it counts as the server's: in `used_memory`, against `maxmemory`.
#![allow(unsafe_code)]
#![cfg_attr(test, allow(dead_code))] // see `ALLOCATOR`
#![allow(clippy::cast_ptr_alignment)] // only what is aligned to more than a pointer has one before it

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

use crate::server::raw;

/// What a server's allocator aligns to, whichever it was built with.
const ALIGNMENT: usize = 16;
/// From here on a refusal is an answer; the server ends when it is refused less.
const LARGE: usize = 1 << 20;

struct ServerAllocator;

/// Tests of this crate run without a server.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

thread_local! {
    /// What this thread has allocated and not freed, as the server counts it.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// What the work returns, and how many more bytes of the server's memory are held after it.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    let result = work();
    (result, usize::try_from(HELD.get() - before).unwrap_or(0))
}

fn count(bytes: isize) {
    // A thread that is ending needs no count.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

/// The server's size of what `pointer` points to, its own overhead included.
///
/// # Safety
/// `pointer` comes from the server's allocator.
unsafe fn size_of_block(pointer: *mut u8) -> isize {
    // SAFETY: the function was set when the module was loaded, and the pointer is the server's.
    unsafe { raw::MallocSize.get().map_or(0, |size| size(pointer.cast()).cast_signed()) }
}

/// A block of `size` bytes; null if it is large and refused.
///
/// # Safety
/// The module has been loaded.
unsafe fn allocate(size: usize, zeroed: bool) -> *mut u8 {
    // SAFETY: the functions are set when the module is loaded, before anything is allocated.
    let block: *mut u8 = unsafe {
        match (raw::TryAlloc.get(), raw::Calloc.get(), raw::Alloc.get()) {
            (_, Some(calloc), _) if zeroed => calloc(1, size).cast(),
            (Some(try_alloc), ..) if size >= LARGE => try_alloc(size).cast(),
            (.., Some(alloc)) => alloc(size).cast(),
            _ => ptr::null_mut(),
        }
    };
    if !block.is_null() {
        // SAFETY: the block was just made.
        count(unsafe { size_of_block(block) });
    }
    block
}

/// # Safety
/// `block` comes from [`allocate`] and is not used afterwards.
unsafe fn free(block: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        count(-size_of_block(block));
        if let Some(free) = raw::Free.get() {
            free(block.cast());
        }
    }
}

/// Larger alignments than the server's: the block begins earlier, and its address stands before what is handed out.
const fn room_for(layout: Layout) -> usize {
    layout.size() + layout.align() + size_of::<*mut u8>()
}

/// # Safety
/// As [`allocate`]; `layout` is aligned to more than [`ALIGNMENT`].
unsafe fn allocate_aligned(layout: Layout, zeroed: bool) -> *mut u8 {
    // SAFETY: as the caller promises; the address is written below what is handed out, within the block.
    unsafe {
        let block = allocate(room_for(layout), zeroed);
        if block.is_null() {
            return block;
        }
        let first = block.add(size_of::<*mut u8>());
        let aligned = first.add(first.align_offset(layout.align()));
        aligned.cast::<*mut u8>().sub(1).write(block);
        aligned
    }
}

// SAFETY: blocks are the server's, at least as long as asked for, and aligned: by the server up to 16 bytes, by
// `allocate_aligned` beyond that.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: nothing is allocated before the module is loaded.
        unsafe {
            if layout.align() <= ALIGNMENT {
                allocate(layout.size(), false)
            } else {
                allocate_aligned(layout, false)
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            if layout.align() <= ALIGNMENT {
                allocate(layout.size(), true)
            } else {
                allocate_aligned(layout, true)
            }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer was handed out for this layout, so before an aligned one stands its block's address.
        unsafe {
            let block =
                if layout.align() <= ALIGNMENT { pointer } else { pointer.cast::<*mut u8>().sub(1).read() };
            free(block);
        }
    }
}
