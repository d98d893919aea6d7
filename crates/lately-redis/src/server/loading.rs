//! Loading of the module by the server.

use std::ffi::{CStr, CString, c_int};

use crate::raw;

use super::call::{Command, execute};
use super::{ERR, OK, api, describe, guarded, info};

/// Name of the module, and prefix of its configs.
const NAME: &CStr = c"apbf";
/// Category of the commands, for access control.
const CATEGORY: &CStr = c"apbf";
/// As `MODULE LIST` shows it: 1.2.3 is 10203.
const VERSION: c_int = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));
/// Declares support for Valkey's atomic slot migration. It sends the commands that `aof_rewrite` writes, so
/// the module needs no other code for it.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// The server refused to load or register something.
#[derive(Debug)]
pub(crate) struct Refused;

/// The server while it loads the module.
pub(crate) struct Loading {
    pub(super) ctx: *mut raw::Ctx,
    /// False on Redis 7.0, where modules cannot add categories.
    has_category: bool,
}

/// Parses decimal digits at compile time.
const fn number(digits: &str) -> c_int {
    match c_int::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the version is not a number"),
    }
}

/// Converts the server's status code to a `Result`.
pub(super) fn accepted(status: c_int) -> Result<(), Refused> {
    if status == OK { Ok(()) } else { Err(Refused) }
}

impl Loading {
    fn new(ctx: *mut raw::Ctx) -> Self {
        // SAFETY: the server is loading the module with this context. Redis 7.0 lacks this function.
        let added = unsafe { raw::AddACLCategory.get().map(|add| add(ctx, CATEGORY.as_ptr())) };
        let options = raw::OPTIONS_HANDLE_IO_ERRORS
            | raw::OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | raw::OPTIONS_HANDLE_REPL_ASYNC_LOAD;
        // SAFETY: as above. The server ignores options that it does not know.
        unsafe {
            api!(SetModuleOptions(ctx, options | HANDLE_ATOMIC_SLOT_MIGRATION));
        };
        Self { ctx, has_category: added == Some(OK) }
    }

    /// Writes a warning to the server's log.
    pub(crate) fn warn(&self, message: &str) {
        let message = CString::new(message).unwrap_or_default();
        // SAFETY: the arguments match the format: one C string.
        unsafe {
            api!(Log(self.ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr()));
        }
    }

    pub(crate) fn command<C: Command>(&self) -> Result<(), Refused> {
        let description = &C::DESCRIPTION;
        let (name, flags) = (description.name.as_ptr(), description.flags().as_ptr());
        let key = c_int::from(description.key.is_some());
        // SAFETY: names and flags are static, and the server copies the description.
        unsafe {
            accepted(api!(CreateCommand(self.ctx, name, Some(execute::<C>), flags, key, key, key)))?;
            let command = api!(GetCommand(self.ctx, name));
            describe::with_info(description, |info| accepted(api!(SetCommandInfo(command, info))))?;
            if let (true, Some(set)) = (self.has_category, raw::SetCommandACLCategories.get()) {
                accepted(set(command, description.categories().as_ptr()))?;
            }
        }
        Ok(())
    }

    /// Registers the section of `INFO`.
    pub(crate) fn info_section(&self) -> Result<(), Refused> {
        // SAFETY: the server is loading the module with this context.
        accepted(unsafe { api!(RegisterInfoFunc(self.ctx, Some(info::write))) })
    }
}

/// The entry point: the server calls it to load the module.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "C" fn RedisModule_OnLoad(ctx: *mut raw::Ctx, _argv: *mut *mut raw::String, argc: c_int) -> c_int {
    // Nothing may be allocated before `find_functions`, which finds the server's allocator.
    // SAFETY: the server is loading the module with this context; the name is static.
    unsafe {
        if let Err(missing) = raw::find_functions(ctx) {
            if let Some(log) = raw::Log.get() {
                let format = c"the module needs %s: use Redis 7.0 or later, or Valkey".as_ptr();
                log(ctx, c"warning".as_ptr(), format, missing.as_ptr());
            }
            return ERR;
        }
        if api!(IsModuleNameBusy(NAME.as_ptr())) != 0 {
            return ERR;
        }
        api!(SetModuleAttribs(ctx, NAME.as_ptr(), VERSION, raw::APIVER_1));
    }
    let loaded = guarded(|| {
        let loading = Loading::new(ctx);
        if argc > 0 {
            loading.warn("the module takes no arguments; set its configs, for example apbf.default-window");
            return Err(Refused);
        }
        crate::load(&loading)
    });
    match loaded {
        Some(Ok(())) => OK,
        _ => ERR,
    }
}
