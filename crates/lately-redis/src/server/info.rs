//! The module's section of `INFO`.

use std::ffi::{CStr, c_int};

use crate::raw::{self, OK};

use super::api::{api, catch_panic};
use super::module::{Module, NotRegistered, registered};

/// Writes the fields of the section.
pub(crate) struct Section(*mut raw::InfoCtx);

impl Section {
    pub(crate) fn field(&self, name: &CStr, value: u64) {
        // SAFETY: the section is open; the server copies the name.
        unsafe { api!(InfoAddFieldULongLong(self.0, name.as_ptr(), value)) };
    }
}

impl Module {
    /// Registers the section of `INFO`.
    pub(crate) fn info_section(&self) -> Result<(), NotRegistered> {
        // SAFETY: the server is loading the module with this context.
        registered(unsafe { api!(RegisterInfoFunc(self.ctx, Some(write))) })
    }
}

extern "C" fn write(ctx: *mut raw::InfoCtx, _for_crash_report: c_int) {
    catch_panic(|| {
        // SAFETY: the context belongs to the running INFO.
        let wanted = unsafe { api!(InfoAddSection(ctx, c"".as_ptr())) };
        if wanted == OK {
            crate::info::write(&Section(ctx));
        }
    });
}
