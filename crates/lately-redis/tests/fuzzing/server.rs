//! A server in memory that loads the module and knows nothing but the module's commands, data types and configs. It calls
//! what the module has registered, as a real one does, through the same C interface.
//!
//! SAFETY, for the whole file: pointers that the module passes were made here by `Box::into_raw`, and live as long as the
//! server keeps the key, command or call that they stand for; the module runs in one thread and passes each to the
//! function that `raw.rs` declares for it.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_double, c_int, c_long, c_longlong, c_uint, c_ulonglong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::RedisModule_OnLoad;
use crate::raw;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// The server's clock.
static NOW: AtomicI64 = AtomicI64::new(0);

pub(super) fn set_now(now_ms: i64) {
    NOW.store(now_ms, Ordering::Relaxed);
}

/// A key that holds something else than a value of the module.
const OTHER: *mut Type = ptr::null_mut();

/// A registered data type.
pub(super) struct Type {
    methods: raw::TypeMethods,
    encoding: c_int,
}

#[derive(Clone, Copy, PartialEq)]
struct Stored {
    value_type: *mut Type,
    value: *mut c_void,
}

/// A part of a reply: an array or a map announces how many follow.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    Many,
    Null,
    Integer(i64),
    Real,
    Bytes(Vec<u8>),
    Error(String),
}

/// A part of a dump.
#[derive(Clone, PartialEq)]
pub(super) enum Part {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Where a command comes from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum From {
    Client,
    Primary,
    File,
}

pub(super) enum Config {
    Number(raw::ConfigSetNumericFunc, raw::ConfigGetNumericFunc, [i64; 3]),
    Keyword(raw::ConfigSetEnumFunc, raw::ConfigGetEnumFunc, Vec<String>),
    Text(raw::ConfigSetStringFunc, raw::ConfigGetStringFunc, Vec<u8>),
}

struct RegisteredConfig {
    name: String,
    config: Config,
    apply: Option<raw::ConfigApplyFunc>,
    private: *mut c_void,
}

/// What the module has registered.
#[derive(Default)]
struct Registered {
    commands: BTreeMap<String, raw::CmdFunc>,
    types: Vec<*mut Type>,
    configs: Vec<RegisteredConfig>,
    info: Option<raw::InfoFunc>,
}

/// A server with its keys. The module takes a pointer to it as its context, which begins with the function that finds
/// all others.
#[repr(C)]
pub(super) struct Server {
    get_api: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
    registered: *const Registered,
    keys: BTreeMap<Vec<u8>, Stored>,
    pub(super) is_out_of_memory: bool,
    from: From,
    arguments: Vec<Vec<u8>>,
    replies: Vec<Reply>,
    /// What the running command sends to replicas.
    sent: Vec<Vec<Vec<u8>>>,
}

struct OpenKey {
    server: *mut Server,
    name: Vec<u8>,
}

/// What a value is saved to and loaded from.
struct File {
    server: *mut Server,
    parts: Vec<Part>,
    next: usize,
    is_damaged: bool,
    commands: Vec<Vec<Vec<u8>>>,
}

impl Server {
    /// Loads the module. The returned servers never end.
    pub(super) fn load() -> &'static mut Self {
        let registered = Box::into_raw(Box::<Registered>::default());
        let server = Self::with(registered);
        let context = ptr::from_mut(server).cast();
        assert_eq!(RedisModule_OnLoad(context, ptr::null_mut(), 0), raw::OK);
        server
    }

    /// Returns a server that has loaded the same module, without keys.
    pub(super) fn another(&self) -> &'static mut Self {
        Self::with(self.registered)
    }

    fn with(registered: *const Registered) -> &'static mut Self {
        Box::leak(Box::new(Self {
            get_api,
            registered,
            keys: BTreeMap::new(),
            is_out_of_memory: false,
            from: From::Client,
            arguments: Vec::new(),
            replies: Vec::new(),
            sent: Vec::new(),
        }))
    }

    fn registered(&self) -> &Registered {
        unsafe { &*self.registered }
    }

    /// Executes a command, and returns its reply and what it sends to replicas.
    pub(super) fn run(&mut self, from: From, words: &[Vec<u8>]) -> (Vec<Reply>, Vec<Vec<Vec<u8>>>) {
        let name = String::from_utf8_lossy(&words[0]).to_ascii_lowercase();
        if let ("del", [_, key]) = (name.as_str(), words) {
            self.delete(key);
            return (vec![Reply::Integer(1)], vec![words.to_vec()]);
        }
        let Some(command) = self.registered().commands.get(&name).copied() else {
            return (vec![Reply::Error("ERR unknown command".into())], Vec::new());
        };
        self.from = from;
        self.arguments = words.to_vec();
        let mut strings: Vec<*mut raw::String> = words.iter().map(|word| new_string(word)).collect();
        let context = ptr::from_mut(self).cast();
        unsafe {
            command(context, strings.as_mut_ptr(), c_int::try_from(strings.len()).unwrap());
            strings.into_iter().for_each(|string| drop(Box::from_raw(string.cast::<Vec<u8>>())));
        }
        assert!(!self.replies.is_empty(), "{name} has not replied");
        (std::mem::take(&mut self.replies), std::mem::take(&mut self.sent))
    }

    pub(super) fn names(&self) -> Vec<Vec<u8>> {
        self.keys.keys().cloned().collect()
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.keys.contains_key(name)
    }

    pub(super) fn delete(&mut self, name: &[u8]) {
        self.put(name, None);
    }

    /// Stores something that is not the module's.
    pub(super) fn put_other(&mut self, name: &[u8]) {
        self.put(name, Some(Stored { value_type: OTHER, value: ptr::null_mut() }));
    }

    fn put(&mut self, name: &[u8], stored: Option<Stored>) {
        let old = match stored {
            Some(stored) => self.keys.insert(name.to_vec(), stored),
            None => self.keys.remove(name),
        };
        if let Some(old) = old.filter(|old| old.value_type != OTHER) {
            unsafe { (*old.value_type).methods.free.unwrap()(old.value) };
        }
    }

    fn module_value(&self, name: &[u8]) -> Option<(Stored, &raw::TypeMethods)> {
        let stored = *self.keys.get(name).filter(|stored| stored.value_type != OTHER)?;
        Some((stored, unsafe { &(*stored.value_type).methods }))
    }

    /// Returns the number of the key's type, and its dump.
    pub(super) fn dump(&mut self, name: &[u8]) -> Option<(usize, Vec<Part>)> {
        let mut file = self.file(Vec::new());
        let (stored, methods) = self.module_value(name)?;
        unsafe { methods.rdb_save.unwrap()(ptr::from_mut(&mut file).cast(), stored.value) };
        let number = self.registered().types.iter().position(|known| *known == stored.value_type);
        Some((number.unwrap(), file.parts))
    }

    /// Creates a key from a dump, if the module accepts it.
    pub(super) fn restore(&mut self, from: From, name: &[u8], number: usize, parts: Vec<Part>) -> bool {
        self.from = from;
        let mut file = self.file(parts);
        let value_type = self.registered().types[number];
        let value = unsafe {
            let load = (*value_type).methods.rdb_load.unwrap();
            load(ptr::from_mut(&mut file).cast(), (*value_type).encoding)
        };
        if !value.is_null() {
            self.put(name, Some(Stored { value_type, value }));
        }
        !value.is_null()
    }

    /// Returns the commands that the key has in a rewritten file.
    pub(super) fn rewritten(&mut self, name: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut file = self.file(Vec::new());
        let Some((stored, methods)) = self.module_value(name) else { return Vec::new() };
        let key = new_string(name);
        unsafe {
            methods.aof_rewrite.unwrap()(ptr::from_mut(&mut file).cast(), key, stored.value);
            drop(Box::from_raw(key.cast::<Vec<u8>>()));
        }
        file.commands
    }

    pub(super) fn copy(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some((stored, methods)) = self.module_value(from) else { return false };
        let value =
            unsafe { methods.copy.unwrap()(ptr::null_mut(), ptr::null_mut(), stored.value.cast_const()) };
        if !value.is_null() {
            self.put(to, Some(Stored { value_type: stored.value_type, value }));
        }
        !value.is_null()
    }

    /// Returns everything that the key's digest is made of.
    pub(super) fn digest(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (stored, methods) = self.module_value(name)?;
        let mut digest = Vec::<u8>::new();
        unsafe { methods.digest.unwrap()(ptr::from_mut(&mut digest).cast(), stored.value) };
        Some(digest)
    }

    pub(super) fn memory_usage(&self, name: &[u8]) -> usize {
        let Some((stored, methods)) = self.module_value(name) else { return 0 };
        unsafe {
            methods.free_effort.unwrap()(ptr::null_mut(), stored.value.cast_const());
            methods.mem_usage.unwrap()(stored.value.cast_const())
        }
    }

    fn file(&mut self, parts: Vec<Part>) -> File {
        File { server: self, parts, next: 0, is_damaged: false, commands: Vec::new() }
    }

    pub(super) fn config_names(&self) -> Vec<String> {
        self.registered().configs.iter().map(|config| config.name.clone()).collect()
    }

    /// `CONFIG SET`: a value that is refused changes nothing. Returns why.
    pub(super) fn set_config(&mut self, name: &str, text: &[u8]) -> Result<(), String> {
        let RegisteredConfig { config, apply, private, .. } =
            self.registered().configs.iter().find(|config| config.name == name).unwrap();
        let (mut error, context) = (ptr::null_mut(), ptr::from_ref(self).cast_mut().cast());
        let number = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        unsafe {
            let set: &dyn Fn(&[u8], c_longlong, &mut *mut raw::String) -> c_int = match config {
                Config::Number(set, ..) => {
                    &|_, number, error| set(c"".as_ptr(), number, *private, ptr::from_mut(error))
                }
                Config::Keyword(set, ..) => {
                    &|_, number, error| set(c"".as_ptr(), number as c_int, *private, ptr::from_mut(error))
                }
                Config::Text(set, ..) => &|text, _, error| {
                    let string = new_string(text);
                    let status = set(c"".as_ptr(), string, *private, ptr::from_mut(error));
                    drop(Box::from_raw(string.cast::<Vec<u8>>()));
                    status
                },
            };
            let (new, old, old_text) = match config {
                Config::Number(_, get, [_, least, most]) => {
                    let new = number.filter(|number| (least..=most).contains(&number)).ok_or("no number")?;
                    (new, get(c"".as_ptr(), *private), Vec::new())
                }
                Config::Keyword(_, get, keywords) => {
                    let known = keywords.iter().position(|word| text.eq_ignore_ascii_case(word.as_bytes()));
                    let old = get(c"".as_ptr(), *private);
                    (i64::try_from(known.ok_or("no keyword")?).unwrap(), old.into(), Vec::new())
                }
                Config::Text(_, get, _) => (0, 0, bytes_of(get(c"".as_ptr(), *private)).to_vec()),
            };
            let mut status = set(text, new, &mut error);
            if status == raw::OK {
                status = apply.unwrap()(context, *private, &raw mut error);
                if status != raw::OK {
                    assert_eq!(set(&old_text, old, &mut ptr::null_mut()), raw::OK);
                }
            }
            if status == raw::OK {
                return Ok(());
            }
            let message = String::from_utf8_lossy(bytes_of(error)).into_owned();
            drop(Box::from_raw(error.cast::<Vec<u8>>()));
            Err(message)
        }
    }

    /// Sets all configs to their defaults.
    pub(super) fn reset_configs(&mut self) {
        let defaults: Vec<(String, Vec<u8>)> = self
            .registered()
            .configs
            .iter()
            .map(|RegisteredConfig { name, config, .. }| {
                let default = match config {
                    Config::Number(.., [default, ..]) => default.to_string().into_bytes(),
                    Config::Keyword(.., keywords) => keywords[0].clone().into_bytes(),
                    Config::Text(.., default) => default.clone(),
                };
                (name.clone(), default)
            })
            .collect();
        // Each is possible only with some values of the others; after two rounds all have theirs.
        for _ in 0..2 {
            for (name, default) in &defaults {
                _ = self.set_config(name, default);
            }
        }
    }

    pub(super) fn info(&mut self) {
        unsafe { self.registered().info.unwrap()(ptr::from_mut(self).cast(), 0) };
    }
}

fn new_string(bytes: &[u8]) -> *mut raw::String {
    Box::into_raw(Box::new(bytes.to_vec())).cast()
}

unsafe fn bytes_of<'a>(string: *const raw::String) -> &'a [u8] {
    &*string.cast::<Vec<u8>>()
}

unsafe fn of<'a>(context: *mut raw::Ctx) -> &'a mut Server {
    &mut *context.cast()
}

unsafe fn text(name: *const c_char) -> String {
    CStr::from_ptr(name).to_str().unwrap().to_owned()
}

/// Reads the arguments that a format names, from those of a function with `...`: they are words on the machines that the
/// fuzzer runs on, and `rest` has as many as the longest format needs.
unsafe fn words(command: *const c_char, format: *const c_char, rest: [usize; 5]) -> Vec<Vec<u8>> {
    let mut rest = rest.into_iter();
    let mut next = || rest.next().unwrap();
    let mut words = vec![text(command).into_bytes()];
    for kind in text(format).chars() {
        match kind {
            's' => words.push(bytes_of(next() as *const raw::String).to_vec()),
            'c' => words.push(text(next() as *const c_char).into_bytes()),
            'l' => words.push(next().cast_signed().to_string().into_bytes()),
            'b' => words.push(slice(next() as *const u8, next()).to_vec()),
            'v' => {
                let strings = slice(next() as *const *const raw::String, next());
                words.extend(strings.iter().map(|string| bytes_of(*string).to_vec()));
            }
            _ => panic!("the format has an unknown '{kind}'"),
        }
    }
    words
}

unsafe fn slice<'a, T>(start: *const T, len: usize) -> &'a [T] {
    if len == 0 { &[] } else { std::slice::from_raw_parts(start, len) }
}

/// Defines a function that gets a command's name, a format, and what the format names.
macro_rules! formatted {
    ($name:ident, $of:ty, $returned:ty, |$this:ident, $words:ident| $run:expr) => {
        unsafe extern "C" fn $name(
            this: *mut $of,
            command: *const c_char,
            format: *const c_char,
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
        ) -> $returned {
            let ($this, $words) = (&mut *this, words(command, format, [a, b, c, d, e]));
            $run
        }
    };
}

// The functions of the server, in the order of `raw.rs`.

unsafe extern "C" fn is_module_name_busy(_: *const c_char) -> c_int {
    0
}
unsafe extern "C" fn set_module_attribs(_: *mut raw::Ctx, _: *const c_char, _: c_int, _: c_int) {}
unsafe extern "C" fn set_module_options(_: *mut raw::Ctx, _: c_int) {}
unsafe extern "C" fn log(_: *mut raw::Ctx, _: *const c_char, _: *const c_char) {}

unsafe extern "C" fn create_string(_: *mut raw::Ctx, bytes: *const c_char, len: usize) -> *mut raw::String {
    new_string(slice(bytes.cast(), len))
}
unsafe extern "C" fn free_string(_: *mut raw::Ctx, string: *mut raw::String) {
    drop(Box::from_raw(string.cast::<Vec<u8>>()));
}
unsafe extern "C" fn string_ptr_len(string: *const raw::String, len: *mut usize) -> *const c_char {
    let bytes = bytes_of(string);
    *len = bytes.len();
    bytes.as_ptr().cast()
}
unsafe extern "C" fn open_key(ctx: *mut raw::Ctx, name: *mut raw::String, _: c_int) -> *mut OpenKey {
    Box::into_raw(Box::new(OpenKey { server: ctx.cast(), name: bytes_of(name).to_vec() }))
}
unsafe extern "C" fn delete_key(key: *mut OpenKey) -> c_int {
    (*(*key).server).delete(&(*key).name);
    raw::OK
}
unsafe extern "C" fn close_key(key: *mut OpenKey) {
    drop(Box::from_raw(key));
}
unsafe fn stored(key: *mut OpenKey) -> Option<Stored> {
    let OpenKey { server, name } = &*key;
    let server: &Server = &**server;
    server.keys.get(name).copied()
}
unsafe extern "C" fn key_type(key: *mut OpenKey) -> c_int {
    stored(key).map_or(raw::KEYTYPE_EMPTY, |_| raw::KEYTYPE_EMPTY + 1)
}
unsafe extern "C" fn module_type_get_type(key: *mut OpenKey) -> *mut Type {
    stored(key).map_or(OTHER, |stored| stored.value_type)
}
unsafe extern "C" fn module_type_get_value(key: *mut OpenKey) -> *mut c_void {
    stored(key).map_or(ptr::null_mut(), |stored| stored.value)
}
unsafe extern "C" fn get_abs_expire(_: *mut OpenKey) -> c_longlong {
    raw::NO_EXPIRE
}
unsafe extern "C" fn set_abs_expire(_: *mut OpenKey, _: c_longlong) -> c_int {
    raw::OK
}
unsafe extern "C" fn module_type_set_value(
    key: *mut OpenKey,
    value_type: *mut Type,
    value: *mut c_void,
) -> c_int {
    (*(*key).server).put(&(*key).name, Some(Stored { value_type, value }));
    raw::OK
}
unsafe extern "C" fn signal_modified_key(_: *mut raw::Ctx, _: *mut raw::String) -> c_int {
    raw::OK
}
unsafe extern "C" fn notify_keyspace_event(
    _: *mut raw::Ctx,
    _: c_int,
    _: *const c_char,
    _: *mut raw::String,
) -> c_int {
    raw::OK
}

unsafe fn registering<'a>(ctx: *mut raw::Ctx) -> &'a mut Registered {
    &mut *of(ctx).registered.cast_mut()
}
unsafe extern "C" fn create_command(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    function: Option<raw::CmdFunc>,
    _: *const c_char,
    _: c_int,
    _: c_int,
    _: c_int,
) -> c_int {
    registering(ctx).commands.insert(text(name), function.unwrap());
    raw::OK
}
unsafe extern "C" fn get_command(ctx: *mut raw::Ctx, _: *const c_char) -> *mut raw::Command {
    ctx.cast()
}
unsafe extern "C" fn set_command_info(_: *mut raw::Command, _: *const raw::CommandInfo) -> c_int {
    raw::OK
}
unsafe extern "C" fn get_context_flags(ctx: *mut raw::Ctx) -> c_int {
    let server = of(ctx);
    let of_source = match server.from {
        From::Client => 0,
        From::Primary => raw::CTX_FLAGS_REPLICATED | raw::CTX_FLAGS_SLAVE,
        From::File => raw::CTX_FLAGS_LOADING,
    };
    of_source | if server.is_out_of_memory { raw::CTX_FLAGS_OOM } else { 0 }
}
unsafe extern "C" fn milliseconds() -> c_longlong {
    NOW.load(Ordering::Relaxed)
}
formatted!(replicate, Server, c_int, |server, words| {
    server.sent.push(words);
    raw::OK
});
unsafe extern "C" fn replicate_verbatim(ctx: *mut raw::Ctx) -> c_int {
    let server = of(ctx);
    server.sent.push(server.arguments.clone());
    raw::OK
}

unsafe fn reply(ctx: *mut raw::Ctx, reply: Reply) -> c_int {
    of(ctx).replies.push(reply);
    raw::OK
}
unsafe extern "C" fn reply_with_many(ctx: *mut raw::Ctx, _: c_long) -> c_int {
    reply(ctx, Reply::Many)
}
unsafe extern "C" fn reply_with_null(ctx: *mut raw::Ctx) -> c_int {
    reply(ctx, Reply::Null)
}
unsafe extern "C" fn reply_with_long_long(ctx: *mut raw::Ctx, number: c_longlong) -> c_int {
    reply(ctx, Reply::Integer(number))
}
unsafe extern "C" fn reply_with_double(ctx: *mut raw::Ctx, number: c_double) -> c_int {
    assert!(!number.is_nan());
    reply(ctx, Reply::Real)
}
unsafe extern "C" fn reply_with_simple_string(ctx: *mut raw::Ctx, message: *const c_char) -> c_int {
    reply(ctx, Reply::Bytes(text(message).into_bytes()))
}
unsafe extern "C" fn reply_with_string_buffer(ctx: *mut raw::Ctx, bytes: *const c_char, len: usize) -> c_int {
    reply(ctx, Reply::Bytes(slice(bytes.cast(), len).to_vec()))
}
unsafe extern "C" fn reply_with_error(ctx: *mut raw::Ctx, message: *const c_char) -> c_int {
    reply(ctx, Reply::Error(text(message)))
}
unsafe extern "C" fn wrong_arity(ctx: *mut raw::Ctx) -> c_int {
    reply(ctx, Reply::Error("ERR wrong number of arguments".into()))
}

unsafe extern "C" fn create_data_type(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    encoding: c_int,
    methods: *mut raw::TypeMethods,
) -> *mut Type {
    assert_eq!(text(name).len(), 9);
    let value_type = Box::into_raw(Box::new(Type { methods: ptr::read(methods), encoding }));
    registering(ctx).types.push(value_type);
    value_type
}
unsafe fn next_part<'a>(io: *mut File) -> Option<&'a Part> {
    let file = &mut *io;
    file.next += 1;
    file.parts.get(file.next - 1)
}
unsafe extern "C" fn load_unsigned(io: *mut File) -> u64 {
    if let Some(Part::Number(number)) = next_part(io) {
        return *number;
    }
    (*io).is_damaged = true;
    0
}
unsafe extern "C" fn load_string_buffer(io: *mut File, len: *mut usize) -> *mut c_char {
    if let Some(Part::Bytes(bytes)) = next_part(io) {
        *len = bytes.len();
        let string = malloc(bytes.len().max(1)).cast::<u8>();
        ptr::copy_nonoverlapping(bytes.as_ptr(), string, bytes.len());
        return string.cast();
    }
    (*io).is_damaged = true;
    ptr::null_mut()
}
unsafe extern "C" fn save_unsigned(io: *mut File, number: u64) {
    (&mut *io).parts.push(Part::Number(number));
}
unsafe extern "C" fn save_string_buffer(io: *mut File, bytes: *const c_char, len: usize) {
    (&mut *io).parts.push(Part::Bytes(slice(bytes.cast(), len).to_vec()));
}
unsafe extern "C" fn is_io_error(io: *mut File) -> c_int {
    (*io).is_damaged.into()
}
unsafe extern "C" fn get_context_from_io(io: *mut File) -> *mut raw::Ctx {
    (*io).server.cast()
}
unsafe extern "C" fn get_key_name_from_io(_: *mut File) -> *const raw::String {
    ptr::null()
}
formatted!(emit_aof, File, (), |file, words| file.commands.push(words));
unsafe extern "C" fn digest_add_string_buffer(digest: *mut Vec<u8>, bytes: *const c_char, len: usize) {
    (&mut *digest).extend_from_slice(slice(bytes.cast(), len));
}
unsafe extern "C" fn digest_end_sequence(_: *mut Vec<u8>) {}

unsafe fn register(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    config: Config,
    apply: Option<raw::ConfigApplyFunc>,
    private: *mut c_void,
) -> c_int {
    registering(ctx).configs.push(RegisteredConfig { name: text(name), config, apply, private });
    raw::OK
}
unsafe extern "C" fn register_numeric_config(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    default: c_longlong,
    _: c_uint,
    least: c_longlong,
    most: c_longlong,
    get: Option<raw::ConfigGetNumericFunc>,
    set: Option<raw::ConfigSetNumericFunc>,
    apply: Option<raw::ConfigApplyFunc>,
    private: *mut c_void,
) -> c_int {
    let config = Config::Number(set.unwrap(), get.unwrap(), [default, least, most]);
    register(ctx, name, config, apply, private)
}
unsafe extern "C" fn register_string_config(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    default: *const c_char,
    _: c_uint,
    get: Option<raw::ConfigGetStringFunc>,
    set: Option<raw::ConfigSetStringFunc>,
    apply: Option<raw::ConfigApplyFunc>,
    private: *mut c_void,
) -> c_int {
    register(ctx, name, Config::Text(set.unwrap(), get.unwrap(), text(default).into_bytes()), apply, private)
}
unsafe extern "C" fn register_enum_config(
    ctx: *mut raw::Ctx,
    name: *const c_char,
    _: c_int,
    _: c_uint,
    keywords: *mut *const c_char,
    _: *const c_int,
    count: c_int,
    get: Option<raw::ConfigGetEnumFunc>,
    set: Option<raw::ConfigSetEnumFunc>,
    apply: Option<raw::ConfigApplyFunc>,
    private: *mut c_void,
) -> c_int {
    let keywords = slice(keywords, count as usize).iter().map(|keyword| text(*keyword)).collect();
    register(ctx, name, Config::Keyword(set.unwrap(), get.unwrap(), keywords), apply, private)
}
unsafe extern "C" fn load_configs(ctx: *mut raw::Ctx) -> c_int {
    of(ctx).reset_configs();
    raw::OK
}
unsafe extern "C" fn register_info_func(ctx: *mut raw::Ctx, function: Option<raw::InfoFunc>) -> c_int {
    registering(ctx).info = function;
    raw::OK
}
unsafe extern "C" fn info_add_section(_: *mut raw::InfoCtx, _: *const c_char) -> c_int {
    raw::OK
}
unsafe extern "C" fn info_add_field(_: *mut raw::InfoCtx, _: *const c_char, _: c_ulonglong) -> c_int {
    raw::OK
}

/// Finds a function by the name that the header gives it.
unsafe extern "C" fn get_api(name: *const c_char, address: *mut *mut c_void) -> c_int {
    macro_rules! find {
        ($($known:ident: $function:ident,)*) => {
            match CStr::from_ptr(name).to_str().unwrap().trim_start_matches("RedisModule_") {
                $(stringify!($known) => $function as *mut c_void,)*
                // Newer than Redis 7.0.
                _ => return raw::ERR,
            }
        };
    }
    *address = find! {
        IsModuleNameBusy: is_module_name_busy,
        SetModuleAttribs: set_module_attribs,
        SetModuleOptions: set_module_options,
        Log: log,
        Alloc: malloc,
        TryAlloc: malloc,
        Calloc: calloc,
        Realloc: realloc,
        Free: free,
        MallocSize: malloc_usable_size,
        CreateString: create_string,
        FreeString: free_string,
        StringPtrLen: string_ptr_len,
        OpenKey: open_key,
        DeleteKey: delete_key,
        CloseKey: close_key,
        KeyType: key_type,
        ModuleTypeGetType: module_type_get_type,
        ModuleTypeGetValue: module_type_get_value,
        GetAbsExpire: get_abs_expire,
        SetAbsExpire: set_abs_expire,
        ModuleTypeSetValue: module_type_set_value,
        SignalModifiedKey: signal_modified_key,
        NotifyKeyspaceEvent: notify_keyspace_event,
        CreateCommand: create_command,
        GetCommand: get_command,
        SetCommandInfo: set_command_info,
        GetContextFlags: get_context_flags,
        Milliseconds: milliseconds,
        Replicate: replicate,
        ReplicateVerbatim: replicate_verbatim,
        ReplyWithArray: reply_with_many,
        ReplyWithMap: reply_with_many,
        ReplyWithNull: reply_with_null,
        ReplyWithLongLong: reply_with_long_long,
        ReplyWithDouble: reply_with_double,
        ReplyWithSimpleString: reply_with_simple_string,
        ReplyWithStringBuffer: reply_with_string_buffer,
        ReplyWithError: reply_with_error,
        WrongArity: wrong_arity,
        CreateDataType: create_data_type,
        LoadUnsigned: load_unsigned,
        LoadStringBuffer: load_string_buffer,
        SaveUnsigned: save_unsigned,
        SaveStringBuffer: save_string_buffer,
        IsIOError: is_io_error,
        GetContextFromIO: get_context_from_io,
        GetKeyNameFromIO: get_key_name_from_io,
        LogIOError: log,
        EmitAOF: emit_aof,
        DigestAddStringBuffer: digest_add_string_buffer,
        DigestEndSequence: digest_end_sequence,
        RegisterNumericConfig: register_numeric_config,
        RegisterStringConfig: register_string_config,
        RegisterEnumConfig: register_enum_config,
        LoadConfigs: load_configs,
        RegisterInfoFunc: register_info_func,
        InfoAddSection: info_add_section,
        InfoAddFieldULongLong: info_add_field,
    };
    raw::OK
}
