//! Allocates from the server's allocator, so that the memory counts in `used_memory` and against `maxmemory`.
#![allow(unsafe_code)]
#![cfg_attr(any(test, fuzzing), allow(dead_code))] // see `ALLOCATOR`
#![allow(clippy::cast_ptr_alignment)] // the pointers cast here are aligned to more than a pointer

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

use crate::raw;

/// The alignment that every allocator a server can be built with guarantees.
const ALIGNMENT: usize = 16;
/// Allocations of at least this size return null on failure. The server aborts if a smaller one fails, or if one of
/// any size that is zeroed, or that grows.
const LARGE: usize = 1 << 20;

struct ServerAllocator;

/// Tests of this crate and the fuzzer allocate before a server has loaded the module.
#[cfg(not(any(test, fuzzing)))]
#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

thread_local! {
    /// Bytes that this thread has allocated minus those it has freed, as the server counts them.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Runs `work`. Returns its result, and how many more bytes of the server's memory this thread holds
/// afterwards; negative if it holds fewer.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, isize) {
    let before = HELD.get();
    let result = work();
    (result, HELD.get() - before)
}

/// Returns true if the server can allocate a block of this size at present. Touches no memory.
pub(crate) fn can_allocate(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes.max(LARGE)).is_ok()
}

fn count(bytes: isize) {
    HELD.set(HELD.get() + bytes);
}

/// Returns the size of the block at `pointer`, including the overhead of the server's allocator.
///
/// # Safety
/// `pointer` comes from the server's allocator and is not freed.
unsafe fn size_of_block(pointer: *mut u8) -> isize {
    // SAFETY: the function was found when the module was loaded; the rest is as the caller promises.
    unsafe { raw::MallocSize.get().map_or(0, |size| size(pointer.cast()).cast_signed()) }
}

/// Allocates a block of at least `size` bytes. Returns null on failure if the block is [`LARGE`] and not
/// zeroed; the server aborts in the other cases.
///
/// # Safety
/// The server's functions were found; see [`raw`].
unsafe fn allocate(size: usize, zeroed: bool) -> *mut u8 {
    // SAFETY: as the caller promises.
    let block: *mut u8 = unsafe {
        match (raw::TryAlloc.get(), raw::Calloc.get(), raw::Alloc.get()) {
            (_, Some(calloc), _) if zeroed => calloc(1, size).cast(),
            (Some(try_alloc), ..) if size >= LARGE => try_alloc(size).cast(),
            (.., Some(alloc)) => alloc(size).cast(),
            _ => ptr::null_mut(),
        }
    };
    if !block.is_null() {
        // SAFETY: the block was just allocated.
        count(unsafe { size_of_block(block) });
    }
    block
}

/// Changes the size of a block, and moves it if that is necessary. The server aborts on failure.
///
/// # Safety
/// `block` comes from [`allocate`], is not freed, and is not used afterwards.
unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        let before = size_of_block(block);
        let moved = raw::Realloc.get().map_or(ptr::null_mut(), |realloc| realloc(block.cast(), size).cast());
        count(size_of_block(moved) - before);
        moved
    }
}

/// Frees a block.
///
/// # Safety
/// `block` comes from [`allocate`], is not freed, and is not used afterwards.
unsafe fn free(block: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        count(-size_of_block(block));
        if let Some(free) = raw::Free.get() {
            free(block.cast());
        }
    }
}

/// Returns the size of a block with room for an aligned part. The block's address is stored directly before
/// the aligned part.
const fn room_for(layout: Layout) -> usize {
    layout.size() + layout.align() + size_of::<*mut u8>()
}

/// Allocates memory with an alignment larger than that of the server's allocator.
///
/// # Safety
/// As for [`allocate`]; the alignment of `layout` is larger than [`ALIGNMENT`].
unsafe fn allocate_aligned(layout: Layout, zeroed: bool) -> *mut u8 {
    // SAFETY: as the caller promises. The block's address is written directly before the aligned part, where
    // the block has room for it.
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

// SAFETY: blocks come from the server's allocator, are at least as long as requested, and aligned: the server
// aligns up to 16 bytes, and `allocate_aligned` does it for larger alignments.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: nothing is allocated before the server's functions are found, which is the first step of
        // loading the module.
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

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the pointer was returned for this layout. The server's function moves the block's content if it has
        // to; a block with an alignment of its own is moved here, because the server does not know where it begins.
        unsafe {
            if layout.align() <= ALIGNMENT {
                reallocate(pointer, new_size)
            } else {
                let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
                if !new.is_null() {
                    ptr::copy_nonoverlapping(pointer, new, layout.size().min(new_size));
                    self.dealloc(pointer, layout);
                }
                new
            }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer was returned for this layout. If `allocate_aligned` returned it, the address of
        // its block is stored directly before it.
        unsafe {
            let block =
                if layout.align() <= ALIGNMENT { pointer } else { pointer.cast::<*mut u8>().sub(1).read() };
            free(block);
        }
    }
}
