//! The part of the server's C interface (`redismodule.h`) that this crate uses, as of Redis 7.0. Valkey has
//! the same functions under the same names, so one file loads in both.
//!
//! The names are those of the header without the prefixes `RedisModule` and `REDISMODULE_`.
//! `tests/test_header.py` checks every signature, structure and constant below against the header with a C
//! compiler.
//!
//! The module asks the server for each function by name when it is loaded; see [`find_functions`].
#![allow(unsafe_code)]
#![allow(non_upper_case_globals)]

use std::ffi::{CStr, c_char, c_double, c_int, c_long, c_longlong, c_uint, c_ulonglong, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Declares the server's opaque structures, which are only used through pointers.
macro_rules! opaque {
    ($($name:ident)*) => {
        $(#[repr(C)] pub(crate) struct $name { _private: [u8; 0] })*
    };
}

opaque! { Ctx String Key IO Digest Type InfoCtx Command KeyOptCtx DefragCtx }

pub(crate) const OK: c_int = 0;
pub(crate) const ERR: c_int = 1;
pub(crate) const APIVER_1: c_int = 1;

pub(crate) const READ: c_int = 1 << 0;
pub(crate) const WRITE: c_int = 1 << 1;
pub(crate) const OPEN_KEY_NOTOUCH: c_int = 1 << 16;
pub(crate) const KEYTYPE_EMPTY: c_int = 0;
pub(crate) const NO_EXPIRE: c_longlong = -1;
pub(crate) const NOTIFY_MODULE: c_int = 1 << 13;

pub(crate) const OPTIONS_HANDLE_IO_ERRORS: c_int = 1 << 0;
pub(crate) const OPTION_NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;
pub(crate) const OPTIONS_HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;

pub(crate) const CTX_FLAGS_SLAVE: c_int = 1 << 3;
pub(crate) const CTX_FLAGS_OOM: c_int = 1 << 10;
pub(crate) const CTX_FLAGS_REPLICATED: c_int = 1 << 12;
pub(crate) const CTX_FLAGS_LOADING: c_int = 1 << 13;

pub(crate) const CONFIG_DEFAULT: c_uint = 0;
pub(crate) const CONFIG_MEMORY: c_uint = 1 << 7;

pub(crate) const CMD_KEY_RO: u64 = 1 << 0;
pub(crate) const CMD_KEY_RW: u64 = 1 << 1;
pub(crate) const CMD_KEY_OW: u64 = 1 << 2;
pub(crate) const CMD_KEY_ACCESS: u64 = 1 << 4;
pub(crate) const CMD_KEY_INSERT: u64 = 1 << 6;

pub(crate) const CMD_ARG_NONE: c_int = 0;
pub(crate) const CMD_ARG_OPTIONAL: c_int = 1 << 0;
pub(crate) const CMD_ARG_MULTIPLE: c_int = 1 << 1;

pub(crate) const ARG_TYPE_STRING: c_uint = 0;
pub(crate) const ARG_TYPE_INTEGER: c_uint = 1;
pub(crate) const ARG_TYPE_DOUBLE: c_uint = 2;
pub(crate) const ARG_TYPE_KEY: c_uint = 3;
pub(crate) const ARG_TYPE_PURE_TOKEN: c_uint = 6;
pub(crate) const ARG_TYPE_ONEOF: c_uint = 7;
pub(crate) const ARG_TYPE_BLOCK: c_uint = 8;

pub(crate) const KSPEC_BS_INDEX: c_uint = 2;
pub(crate) const KSPEC_FK_RANGE: c_uint = 2;

pub(crate) type CmdFunc = unsafe extern "C" fn(*mut Ctx, *mut *mut String, c_int) -> c_int;
pub(crate) type InfoFunc = unsafe extern "C" fn(*mut InfoCtx, c_int);
pub(crate) type TypeLoadFunc = unsafe extern "C" fn(*mut IO, c_int) -> *mut c_void;
pub(crate) type TypeSaveFunc = unsafe extern "C" fn(*mut IO, *mut c_void);
pub(crate) type TypeAuxLoadFunc = unsafe extern "C" fn(*mut IO, c_int, c_int) -> c_int;
pub(crate) type TypeAuxSaveFunc = unsafe extern "C" fn(*mut IO, c_int);
pub(crate) type TypeRewriteFunc = unsafe extern "C" fn(*mut IO, *mut String, *mut c_void);
pub(crate) type TypeMemUsageFunc = unsafe extern "C" fn(*const c_void) -> usize;
pub(crate) type TypeMemUsageFunc2 = unsafe extern "C" fn(*mut KeyOptCtx, *const c_void, usize) -> usize;
pub(crate) type TypeDigestFunc = unsafe extern "C" fn(*mut Digest, *mut c_void);
pub(crate) type TypeFreeFunc = unsafe extern "C" fn(*mut c_void);
pub(crate) type TypeFreeEffortFunc = unsafe extern "C" fn(*mut String, *const c_void) -> usize;
pub(crate) type TypeFreeEffortFunc2 = unsafe extern "C" fn(*mut KeyOptCtx, *const c_void) -> usize;
pub(crate) type TypeUnlinkFunc = unsafe extern "C" fn(*mut String, *const c_void);
pub(crate) type TypeUnlinkFunc2 = unsafe extern "C" fn(*mut KeyOptCtx, *const c_void);
pub(crate) type TypeCopyFunc = unsafe extern "C" fn(*mut String, *mut String, *const c_void) -> *mut c_void;
pub(crate) type TypeCopyFunc2 = unsafe extern "C" fn(*mut KeyOptCtx, *const c_void) -> *mut c_void;
pub(crate) type TypeDefragFunc = unsafe extern "C" fn(*mut DefragCtx, *mut String, *mut *mut c_void) -> c_int;
pub(crate) type ConfigGetStringFunc = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut String;
pub(crate) type ConfigGetNumericFunc = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
pub(crate) type ConfigGetEnumFunc = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
pub(crate) type ConfigSetStringFunc =
    unsafe extern "C" fn(*const c_char, *mut String, *mut c_void, *mut *mut String) -> c_int;
pub(crate) type ConfigSetNumericFunc =
    unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut String) -> c_int;
pub(crate) type ConfigSetEnumFunc =
    unsafe extern "C" fn(*const c_char, c_int, *mut c_void, *mut *mut String) -> c_int;
pub(crate) type ConfigApplyFunc = unsafe extern "C" fn(*mut Ctx, *mut c_void, *mut *mut String) -> c_int;

/// Version 4, the version of Redis 7.0. Servers read only the fields that belong to `version`.
#[repr(C)]
pub(crate) struct TypeMethods {
    pub(crate) version: u64,
    pub(crate) rdb_load: Option<TypeLoadFunc>,
    pub(crate) rdb_save: Option<TypeSaveFunc>,
    pub(crate) aof_rewrite: Option<TypeRewriteFunc>,
    pub(crate) mem_usage: Option<TypeMemUsageFunc>,
    pub(crate) digest: Option<TypeDigestFunc>,
    pub(crate) free: Option<TypeFreeFunc>,
    pub(crate) aux_load: Option<TypeAuxLoadFunc>,
    pub(crate) aux_save: Option<TypeAuxSaveFunc>,
    pub(crate) aux_save_triggers: c_int,
    pub(crate) free_effort: Option<TypeFreeEffortFunc>,
    pub(crate) unlink: Option<TypeUnlinkFunc>,
    pub(crate) copy: Option<TypeCopyFunc>,
    pub(crate) defrag: Option<TypeDefragFunc>,
    pub(crate) mem_usage2: Option<TypeMemUsageFunc2>,
    pub(crate) free_effort2: Option<TypeFreeEffortFunc2>,
    pub(crate) unlink2: Option<TypeUnlinkFunc2>,
    pub(crate) copy2: Option<TypeCopyFunc2>,
}

#[repr(C)]
pub(crate) struct CommandArg {
    pub(crate) name: *const c_char,
    /// One of `ARG_TYPE_*`.
    pub(crate) r#type: c_uint,
    pub(crate) key_spec_index: c_int,
    pub(crate) token: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) since: *const c_char,
    pub(crate) flags: c_int,
    pub(crate) deprecated_since: *const c_char,
    pub(crate) subargs: *mut CommandArg,
    pub(crate) display_text: *const c_char,
}

#[repr(C)]
pub(crate) struct CommandHistoryEntry {
    pub(crate) since: *const c_char,
    pub(crate) changes: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CommandKeySpec {
    pub(crate) notes: *const c_char,
    pub(crate) flags: u64,
    pub(crate) begin_search_type: c_uint,
    pub(crate) bs: BeginSearch,
    pub(crate) find_keys_type: c_uint,
    pub(crate) fk: KeyRange,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union BeginSearch {
    pub(crate) index: c_int,
    /// Not used; it gives the union its size.
    pub(crate) keyword: Keyword,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Keyword {
    pub(crate) keyword: *const c_char,
    pub(crate) startfrom: c_int,
}

/// In the header, this is a union of two structures of three integers each.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KeyRange {
    pub(crate) lastkey: c_int,
    pub(crate) keystep: c_int,
    pub(crate) limit: c_int,
}

#[repr(C)]
pub(crate) struct CommandInfoVersion {
    pub(crate) version: c_int,
    pub(crate) sizeof_historyentry: usize,
    pub(crate) sizeof_keyspec: usize,
    pub(crate) sizeof_arg: usize,
}

#[repr(C)]
pub(crate) struct CommandInfo {
    pub(crate) version: *const CommandInfoVersion,
    pub(crate) summary: *const c_char,
    pub(crate) complexity: *const c_char,
    pub(crate) since: *const c_char,
    pub(crate) history: *mut CommandHistoryEntry,
    pub(crate) tips: *const c_char,
    pub(crate) arity: c_int,
    pub(crate) key_specs: *mut CommandKeySpec,
    pub(crate) args: *mut CommandArg,
}

/// A function of the server that has the type `F`.
pub(crate) struct Function<F> {
    name: &'static CStr,
    /// Null before the module is loaded, and null afterwards if the server lacks the function.
    address: AtomicPtr<c_void>,
    signature: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    const fn new(name: &'static CStr) -> Self {
        // `get` reads a pointer as an `F`.
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Self { name, address: AtomicPtr::new(ptr::null_mut()), signature: PhantomData }
    }

    pub(crate) fn get(&self) -> Option<F> {
        // The server hands values to its background threads under locks of its own, after the module was
        // loaded. So no ordering is needed.
        let address = self.address.load(Ordering::Relaxed);
        // SAFETY: the address is not null, so the server returned it for this name. In the header the name
        // has the type `F`, which is a function pointer and has the size of an address.
        (!address.is_null()).then(|| unsafe { mem::transmute_copy(&address) })
    }
}

macro_rules! functions {
    (required { $(fn $name:ident($($parameters:tt)*) $(-> $returned:ty)?;)* }
     optional { $(fn $newer:ident($($newer_parameters:tt)*) $(-> $newer_returned:ty)?;)* }) => {
        functions!(@declare $($name [$($parameters)*] [$(-> $returned)?])*);
        functions!(@declare $($newer [$($newer_parameters)*] [$(-> $newer_returned)?])*);

        fn find_all(get_api: GetApi) -> Result<(), &'static CStr> {
            $(find(get_api, &$newer);)*
            $(if !find(get_api, &$name) {
                return Err($name.name);
            })*
            Ok(())
        }
    };
    (@declare $($name:ident [$($parameters:tt)*] [$($returned:tt)*])*) => {
        $(pub(crate) static $name: Function<unsafe extern "C" fn($($parameters)*) $($returned)*> =
            // Checked at compile time: the last byte is the only NUL.
            Function::new(match CStr::from_bytes_with_nul(concat!("RedisModule_", stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!(),
            });)*
    };
}

functions! {
    required {
        // Loading.
        fn IsModuleNameBusy(name: *const c_char) -> c_int;
        fn SetModuleAttribs(ctx: *mut Ctx, name: *const c_char, version: c_int, api_version: c_int);
        fn SetModuleOptions(ctx: *mut Ctx, options: c_int);
        fn Log(ctx: *mut Ctx, level: *const c_char, format: *const c_char, ...);
        // Memory.
        fn Alloc(bytes: usize) -> *mut c_void;
        fn TryAlloc(bytes: usize) -> *mut c_void;
        fn Calloc(count: usize, size: usize) -> *mut c_void;
        fn Realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
        fn Free(block: *mut c_void);
        fn MallocSize(block: *mut c_void) -> usize;
        // Strings and keys.
        fn CreateString(ctx: *mut Ctx, bytes: *const c_char, len: usize) -> *mut String;
        fn FreeString(ctx: *mut Ctx, string: *mut String);
        fn StringPtrLen(string: *const String, len: *mut usize) -> *const c_char;
        fn OpenKey(ctx: *mut Ctx, name: *mut String, mode: c_int) -> *mut Key;
        fn DeleteKey(key: *mut Key) -> c_int;
        fn CloseKey(key: *mut Key);
        fn KeyType(key: *mut Key) -> c_int;
        fn ModuleTypeGetType(key: *mut Key) -> *mut Type;
        fn ModuleTypeGetValue(key: *mut Key) -> *mut c_void;
        fn GetAbsExpire(key: *mut Key) -> c_longlong;
        fn SetAbsExpire(key: *mut Key, expire: c_longlong) -> c_int;
        fn ModuleTypeSetValue(key: *mut Key, value_type: *mut Type, value: *mut c_void) -> c_int;
        fn SignalModifiedKey(ctx: *mut Ctx, name: *mut String) -> c_int;
        fn NotifyKeyspaceEvent(ctx: *mut Ctx, kind: c_int, event: *const c_char, name: *mut String) -> c_int;
        // Commands.
        fn CreateCommand(
            ctx: *mut Ctx,
            name: *const c_char,
            function: Option<CmdFunc>,
            flags: *const c_char,
            first_key: c_int,
            last_key: c_int,
            key_step: c_int
        ) -> c_int;
        fn GetCommand(ctx: *mut Ctx, name: *const c_char) -> *mut Command;
        fn SetCommandInfo(command: *mut Command, info: *const CommandInfo) -> c_int;
        fn GetContextFlags(ctx: *mut Ctx) -> c_int;
        fn Milliseconds() -> c_longlong;
        fn Replicate(ctx: *mut Ctx, command: *const c_char, format: *const c_char, ...) -> c_int;
        fn ReplicateVerbatim(ctx: *mut Ctx) -> c_int;
        // Replies.
        fn ReplyWithArray(ctx: *mut Ctx, len: c_long) -> c_int;
        fn ReplyWithMap(ctx: *mut Ctx, len: c_long) -> c_int;
        fn ReplyWithNull(ctx: *mut Ctx) -> c_int;
        fn ReplyWithLongLong(ctx: *mut Ctx, number: c_longlong) -> c_int;
        fn ReplyWithDouble(ctx: *mut Ctx, number: c_double) -> c_int;
        fn ReplyWithSimpleString(ctx: *mut Ctx, message: *const c_char) -> c_int;
        fn ReplyWithStringBuffer(ctx: *mut Ctx, bytes: *const c_char, len: usize) -> c_int;
        fn ReplyWithError(ctx: *mut Ctx, message: *const c_char) -> c_int;
        fn WrongArity(ctx: *mut Ctx) -> c_int;
        // The data type.
        fn CreateDataType(
            ctx: *mut Ctx,
            name: *const c_char,
            encoding: c_int,
            methods: *mut TypeMethods
        ) -> *mut Type;
        fn LoadUnsigned(io: *mut IO) -> u64;
        fn LoadStringBuffer(io: *mut IO, len: *mut usize) -> *mut c_char;
        fn SaveUnsigned(io: *mut IO, number: u64);
        fn SaveStringBuffer(io: *mut IO, bytes: *const c_char, len: usize);
        fn IsIOError(io: *mut IO) -> c_int;
        fn GetContextFromIO(io: *mut IO) -> *mut Ctx;
        fn GetKeyNameFromIO(io: *mut IO) -> *const String;
        fn LogIOError(io: *mut IO, level: *const c_char, format: *const c_char, ...);
        fn EmitAOF(io: *mut IO, command: *const c_char, format: *const c_char, ...);
        fn DigestAddStringBuffer(digest: *mut Digest, bytes: *const c_char, len: usize);
        fn DigestEndSequence(digest: *mut Digest);
        // Configs and INFO.
        fn RegisterNumericConfig(
            ctx: *mut Ctx,
            name: *const c_char,
            default: c_longlong,
            flags: c_uint,
            least: c_longlong,
            most: c_longlong,
            get: Option<ConfigGetNumericFunc>,
            set: Option<ConfigSetNumericFunc>,
            apply: Option<ConfigApplyFunc>,
            private_data: *mut c_void
        ) -> c_int;
        fn RegisterStringConfig(
            ctx: *mut Ctx,
            name: *const c_char,
            default: *const c_char,
            flags: c_uint,
            get: Option<ConfigGetStringFunc>,
            set: Option<ConfigSetStringFunc>,
            apply: Option<ConfigApplyFunc>,
            private_data: *mut c_void
        ) -> c_int;
        fn RegisterEnumConfig(
            ctx: *mut Ctx,
            name: *const c_char,
            default: c_int,
            flags: c_uint,
            words: *mut *const c_char,
            values: *const c_int,
            count: c_int,
            get: Option<ConfigGetEnumFunc>,
            set: Option<ConfigSetEnumFunc>,
            apply: Option<ConfigApplyFunc>,
            private_data: *mut c_void
        ) -> c_int;
        fn LoadConfigs(ctx: *mut Ctx) -> c_int;
        fn RegisterInfoFunc(ctx: *mut Ctx, function: Option<InfoFunc>) -> c_int;
        fn InfoAddSection(ctx: *mut InfoCtx, name: *const c_char) -> c_int;
        fn InfoAddFieldULongLong(ctx: *mut InfoCtx, name: *const c_char, number: c_ulonglong) -> c_int;
    }
    // Newer than Redis 7.0.
    optional {
        fn CachedMicroseconds() -> c_longlong;
        fn AddACLCategory(ctx: *mut Ctx, name: *const c_char) -> c_int;
        fn SetCommandACLCategories(command: *mut Command, categories: *const c_char) -> c_int;
    }
}

type GetApi = unsafe extern "C" fn(name: *const c_char, address: *mut *mut c_void) -> c_int;

fn find<F>(get_api: GetApi, function: &Function<F>) -> bool {
    let mut address = ptr::null_mut();
    // SAFETY: the name ends with NUL, and `address` has room for an address. The server writes to it only if
    // it has the function.
    unsafe { get_api(function.name.as_ptr(), &raw mut address) };
    function.address.store(address, Ordering::Relaxed);
    !address.is_null()
}

/// Finds the server's functions. Fails with the name of the first required function that the server lacks.
///
/// # Safety
/// `ctx` is the context with which the server is loading the module. A context begins with the address of the
/// function that finds all others.
pub(crate) unsafe fn find_functions(ctx: *mut Ctx) -> Result<(), &'static CStr> {
    // SAFETY: as the caller promises.
    find_all(unsafe { ctx.cast::<GetApi>().read() })
}
