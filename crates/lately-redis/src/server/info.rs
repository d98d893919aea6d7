//! The module's section of `INFO`.

use std::ffi::{CStr, c_int};

use crate::raw;

use super::{OK, api, guarded};

/// Writes the fields of the section.
pub(crate) struct Section(*mut raw::InfoCtx);

impl Section {
    pub(crate) fn field(&self, name: &CStr, value: u64) {
        // SAFETY: the section is open; the server copies the name.
        unsafe { api!(InfoAddFieldULongLong(self.0, name.as_ptr(), value)) };
    }
}

pub(super) extern "C" fn write(ctx: *mut raw::InfoCtx, _for_crash_report: c_int) {
    guarded(|| {
        // SAFETY: the context belongs to the running INFO.
        let wanted = unsafe { api!(InfoAddSection(ctx, c"".as_ptr())) };
        if wanted == OK {
            crate::info::write(&Section(ctx));
        }
    });
}
