//! What std would do in WebAssembly.

use core::panic::PanicInfo;

use dlmalloc::GlobalDlmalloc;

#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

/// No input makes the core panic. If one does all the same, JavaScript gets a `RuntimeError`.
#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
