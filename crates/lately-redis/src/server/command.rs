//! Commands: how they are registered, and how the server calls them.

use std::ffi::c_int;
use std::slice;

use crate::raw::{self, OK};

use super::api::{api, catch_panic};
use super::call::{Argument, Call};
use super::description::{self, Description};
use super::failure::Failure;
use super::module::{Module, NotRegistered, registered};
use super::reply::{self, Reply};

/// A command of the module.
pub(crate) trait Command {
    const DESCRIPTION: Description;

    fn run(call: &Call<'_>) -> Result<Reply, Failure>;
}

impl Module {
    pub(crate) fn command<C: Command>(&self) -> Result<(), NotRegistered> {
        let description = &C::DESCRIPTION;
        let (name, flags) = (description.name.as_ptr(), description.flags().as_ptr());
        let key = c_int::from(description.key.is_some());
        // SAFETY: names and flags are static, and the server copies the description.
        unsafe {
            registered(api!(CreateCommand(self.ctx, name, Some(execute::<C>), flags, key, key, key)))?;
            let command = api!(GetCommand(self.ctx, name));
            description::with_info(description, |info| registered(api!(SetCommandInfo(command, info))))?;
            if let (true, Some(set)) = (self.has_category, raw::SetCommandACLCategories.get()) {
                registered(set(command, description.categories().as_ptr()))?;
            }
        }
        Ok(())
    }
}

/// The callback that the server calls for the command `C`.
extern "C" fn execute<C: Command>(ctx: *mut raw::Ctx, argv: *mut *mut raw::String, argc: c_int) -> c_int {
    // SAFETY: the server passes `argc` pointers to strings that live as long as the command runs, and an
    // `Argument` is a transparent wrapper of one pointer.
    let argv = unsafe { slice::from_raw_parts(argv.cast::<Argument>(), usize::try_from(argc).unwrap_or(0)) };
    // The first is the name of the command.
    let arguments = argv.get(1..).unwrap_or_default();
    let call = Call { ctx, arguments };
    let result = catch_panic(|| C::run(&call));
    if let Some(Err(failure @ Failure::Allocation(_))) = &result {
        // The primary, or this server earlier, has executed the command. Without it, this server would differ.
        call.end_if_replayed(&failure.message());
    }
    let failed = || Err(Failure::new("internal error in the module: the server's log may say why"));
    reply::send(ctx, result.unwrap_or_else(failed));
    OK
}
