//! The module's section of `INFO`.

use std::ffi::{CStr, c_int};

use crate::raw::{self, OK};

use super::api::{api, catch_panic};
use super::module::{Module, NotRegistered, registered};

/// A section of `INFO`.
pub(crate) trait InfoSection {
    fn write(fields: &InfoFields);
}

/// Writes the fields of a section.
pub(crate) struct InfoFields(*mut raw::InfoCtx);

impl InfoFields {
    pub(crate) fn add(&self, name: &CStr, value: u64) {
        // SAFETY: the section is open; the server copies the name.
        unsafe { api!(InfoAddFieldULongLong(self.0, name.as_ptr(), value)) };
    }
}

impl Module {
    pub(crate) fn info_section<S: InfoSection>(&self) -> Result<(), NotRegistered> {
        // SAFETY: the server is loading the module with this context.
        registered(unsafe { api!(RegisterInfoFunc(self.ctx, Some(write::<S>))) })
    }
}

extern "C" fn write<S: InfoSection>(ctx: *mut raw::InfoCtx, _for_crash_report: c_int) {
    catch_panic(|| {
        // SAFETY: the context belongs to the running INFO.
        let wanted = unsafe { api!(InfoAddSection(ctx, c"".as_ptr())) };
        if wanted == OK {
            S::write(&InfoFields(ctx));
        }
    });
}
