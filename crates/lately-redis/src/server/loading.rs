//! The moment at which the server loads the module.

use std::ffi::{CStr, CString, c_int};

use super::raw;

use super::call::{Command, execute};
use super::{ERR, OK, api, describe, guarded, info};

/// Of the module, and the beginning of its configs' names.
const NAME: &CStr = c"apbf";
/// Of commands, for access control.
const CATEGORY: &CStr = c"apbf";
/// As `MODULE LIST` shows it: 1.2.3 is 10203.
const VERSION: c_int = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));
/// Valkey's newer way of moving slots sends what a type's append-only commands are, which is all that we need.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// The server will not have it.
#[derive(Debug)]
pub(crate) struct Refused;

/// The server while it loads the module.
pub(crate) struct Loading {
    pub(super) ctx: *mut raw::Ctx,
    /// Redis 7.0 has no categories of modules' own.
    has_category: bool,
}

/// Parses decimal digits at compile time.
const fn number(digits: &str) -> c_int {
    match c_int::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the version is not a number"),
    }
}

/// Turns the server's answer into ours.
pub(super) fn accepted(status: c_int) -> Result<(), Refused> {
    if status == OK { Ok(()) } else { Err(Refused) }
}

impl Loading {
    fn new(ctx: *mut raw::Ctx) -> Self {
        // SAFETY: the context is that of the loading; the function is younger than Redis 7.0.
        let added = unsafe { raw::AddACLCategory.get().map(|add| add(ctx, CATEGORY.as_ptr())) };
        let options = raw::OPTIONS_HANDLE_IO_ERRORS
            | raw::OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | raw::OPTIONS_HANDLE_REPL_ASYNC_LOAD;
        // SAFETY: as above. Options that a server does not know it ignores.
        unsafe {
            api!(SetModuleOptions(ctx, options | HANDLE_ATOMIC_SLOT_MIGRATION));
        };
        Self { ctx, has_category: added == Some(OK) }
    }

    /// A line in the server's log.
    pub(crate) fn warn(&self, message: &str) {
        let message = CString::new(message).unwrap_or_default();
        // SAFETY: the format takes one C string, which is given.
        unsafe {
            api!(Log(self.ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr()));
        }
    }

    pub(crate) fn command<C: Command>(&self) -> Result<(), Refused> {
        let description = &C::DESCRIPTION;
        let (name, flags) = (description.name.as_ptr(), description.flags().as_ptr());
        let key = c_int::from(description.key.is_some());
        // SAFETY: names and flags live for ever; the server copies what it is told about the command.
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

    /// Adds the section of `INFO`.
    pub(crate) fn info_section(&self) -> Result<(), Refused> {
        // SAFETY: the context is that of the loading.
        accepted(unsafe { api!(RegisterInfoFunc(self.ctx, Some(info::write))) })
    }
}

/// What the server calls first.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "C" fn RedisModule_OnLoad(ctx: *mut raw::Ctx, _argv: *mut *mut raw::String, argc: c_int) -> c_int {
    // Nothing may be allocated before this: it finds the server's allocator.
    // SAFETY: the context is the one that the server loads the module with; the name lives for ever.
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
