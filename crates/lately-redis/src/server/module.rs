//! Loading of the module: the function that the server calls first, and the registration of everything that
//! it can call later.

use std::ffi::{CStr, CString, c_int};

use crate::raw::{self, ERR, OK};

use super::api::{api, catch_panic};

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

/// Parses decimal digits at compile time.
const fn number(digits: &str) -> c_int {
    match c_int::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the version is not a number"),
    }
}

/// The server did not register something, so it does not load the module.
#[derive(Debug)]
pub(crate) struct NotRegistered;

/// Converts the server's status code to a `Result`.
pub(super) fn registered(status: c_int) -> Result<(), NotRegistered> {
    if status == OK { Ok(()) } else { Err(NotRegistered) }
}

/// The module while the server loads it. The files that own commands, configs and so on add methods that
/// register them.
pub(crate) struct Module {
    pub(super) ctx: *mut raw::Ctx,
    /// False on Redis 7.0, where modules cannot add categories.
    pub(super) has_category: bool,
}

impl Module {
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
}

/// Defines the function that the server calls to load the module. It calls `$register` with a [`Module`].
macro_rules! entry_point {
    ($register:path) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, unsafe_code)]
        extern "C" fn RedisModule_OnLoad(
            ctx: *mut $crate::raw::Ctx,
            _argv: *mut *mut $crate::raw::String,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            // SAFETY: the server is loading the module with this context.
            unsafe { $crate::server::module::load(ctx, argc, $register) }
        }
    };
}
pub(crate) use entry_point;

/// Loads the module. Returns the server's status code.
///
/// # Safety
/// The server is loading the module with this context.
pub(crate) unsafe fn load(
    ctx: *mut raw::Ctx,
    argc: c_int,
    register: fn(&Module) -> Result<(), NotRegistered>,
) -> c_int {
    // Nothing may be allocated before `find_functions`, which finds the server's allocator.
    // SAFETY: as the caller promises; the name is static.
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
    let loaded = catch_panic(|| {
        let module = Module::new(ctx);
        if argc > 0 {
            module.warn("the module takes no arguments; set its configs, for example apbf.default-window");
            return Err(NotRegistered);
        }
        register(&module)
    });
    match loaded {
        Some(Ok(())) => OK,
        _ => ERR,
    }
}
