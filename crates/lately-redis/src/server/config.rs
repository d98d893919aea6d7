//! Configs: the settings that `CONFIG SET` changes.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::raw::{self, ERR, OK};

use super::api::{api, catch_panic};
use super::call::Argument;
use super::failure::Failure;
use super::module::{Module, NotRegistered, registered};

/// The module's configs together.
pub(crate) trait Configs {
    /// Runs after one or more configs were set. On `Err` the server refuses the new values.
    fn were_set() -> Result<(), Failure>;
}

/// A config that is a whole number.
pub(crate) struct IntegerConfig {
    name: &'static CStr,
    default: i64,
    least: i64,
    most: i64,
    /// Whether the value may have a unit, for example `100mb`.
    is_memory: bool,
    value: AtomicI64,
}

impl IntegerConfig {
    pub(crate) const fn new(name: &'static CStr, default: i64, least: i64, most: i64) -> Self {
        Self { name, default, least, most, is_memory: false, value: AtomicI64::new(default) }
    }

    pub(crate) const fn in_bytes(self) -> Self {
        Self { is_memory: true, ..self }
    }

    pub(crate) fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed).try_into().unwrap_or(0)
    }

    extern "C" fn read(_name: *const c_char, config: *mut c_void) -> c_longlong {
        // SAFETY: the private data registered with this callback is a config of this type, which is static.
        unsafe { &*config.cast::<Self>() }.value.load(Ordering::Relaxed)
    }

    /// Sets the value. The server has checked the limits.
    extern "C" fn write(
        _name: *const c_char,
        value: c_longlong,
        config: *mut c_void,
        _error: *mut *mut raw::String,
    ) -> c_int {
        // SAFETY: as above.
        unsafe { &*config.cast::<Self>() }.value.store(value, Ordering::Relaxed);
        OK
    }
}

/// A config that is one of several keywords.
pub(crate) struct EnumConfig {
    name: &'static CStr,
    /// The first is the default.
    keywords: &'static [&'static CStr],
    value: AtomicI32,
}

impl EnumConfig {
    pub(crate) const fn new(name: &'static CStr, keywords: &'static [&'static CStr]) -> Self {
        Self { name, keywords, value: AtomicI32::new(0) }
    }

    /// Returns the current keyword.
    pub(crate) fn get(&self) -> &'static CStr {
        let index: usize = self.value.load(Ordering::Relaxed).try_into().unwrap_or(0);
        self.keywords[index]
    }

    extern "C" fn read(_name: *const c_char, config: *mut c_void) -> c_int {
        // SAFETY: the private data registered with this callback is a config of this type, which is static.
        unsafe { &*config.cast::<Self>() }.value.load(Ordering::Relaxed)
    }

    extern "C" fn write(
        _name: *const c_char,
        value: c_int,
        config: *mut c_void,
        _error: *mut *mut raw::String,
    ) -> c_int {
        // SAFETY: as above.
        unsafe { &*config.cast::<Self>() }.value.store(value, Ordering::Relaxed);
        OK
    }
}

/// A config that the server treats as text, and the module as a `T`.
pub(crate) struct TextConfig<T> {
    name: &'static CStr,
    default: &'static CStr,
    parse: fn(&[u8]) -> Result<T, Failure>,
    /// `None` until the config is registered.
    value: Mutex<Option<T>>,
    /// The text that was set. The server does not own the string that `read` returns, so it is kept here.
    text: AtomicPtr<raw::String>,
}

impl<T: Clone> TextConfig<T> {
    pub(crate) const fn new(
        name: &'static CStr,
        default: &'static CStr,
        parse: fn(&[u8]) -> Result<T, Failure>,
    ) -> Self {
        Self { name, default, parse, value: Mutex::new(None), text: AtomicPtr::new(ptr::null_mut()) }
    }

    fn locked(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current value; `None` before the config is registered.
    pub(crate) fn get(&self) -> Option<T> {
        self.locked().clone()
    }

    fn set(&self, text: &[u8]) -> Result<(), Failure> {
        *self.locked() = Some((self.parse)(text)?);
        let old = self.text.swap(string(text), Ordering::Relaxed);
        if !old.is_null() {
            // SAFETY: `string` made it, and the server does not use it while it sets the config.
            unsafe { api!(FreeString(ptr::null_mut(), old)) };
        }
        Ok(())
    }

    extern "C" fn read(_name: *const c_char, config: *mut c_void) -> *mut raw::String {
        // SAFETY: the private data registered with this callback is a config of this type, which is static.
        unsafe { &*config.cast::<Self>() }.text.load(Ordering::Relaxed)
    }

    extern "C" fn write(
        _name: *const c_char,
        value: *mut raw::String,
        config: *mut c_void,
        error: *mut *mut raw::String,
    ) -> c_int {
        // SAFETY: as above, and the server allows writing a message to `error`.
        unsafe { status_of(|| (*config.cast::<Self>()).set(Argument(value).as_ref()), error) }
    }
}

/// Creates a server string that the module owns.
fn string(bytes: &[u8]) -> *mut raw::String {
    // SAFETY: the server copies the bytes. Without a context, the string lives until it is freed.
    unsafe { api!(CreateString(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len())) }
}

/// Runs `work` and returns the server's status code. Writes the message to `error` if `work` fails.
///
/// # Safety
/// The server allows writing a message to `error`, and owns the string afterwards.
unsafe fn status_of(work: impl FnOnce() -> Result<(), Failure>, error: *mut *mut raw::String) -> c_int {
    let failure = match catch_panic(work) {
        Some(Ok(())) => return OK,
        Some(Err(failure)) => failure.message(),
        _ => "internal error in the module".into(),
    };
    // SAFETY: as the caller promises.
    unsafe { error.write(string(failure.as_bytes())) };
    ERR
}

/// The callback that the server calls after one or more configs were set.
extern "C" fn apply<C: Configs>(
    _ctx: *mut raw::Ctx,
    _config: *mut c_void,
    error: *mut *mut raw::String,
) -> c_int {
    // SAFETY: the server allows writing a message to `error`.
    unsafe { status_of(C::were_set, error) }
}

fn as_private_data<T>(config: &'static T) -> *mut c_void {
    ptr::from_ref(config).cast_mut().cast()
}

impl Module {
    pub(crate) fn integer_config<C: Configs>(
        &self,
        config: &'static IntegerConfig,
    ) -> Result<(), NotRegistered> {
        let unit = if config.is_memory { raw::CONFIG_MEMORY } else { 0 };
        // SAFETY: the config is static and has the type that the callbacks expect.
        registered(unsafe {
            api!(RegisterNumericConfig(
                self.ctx,
                config.name.as_ptr(),
                config.default,
                raw::CONFIG_DEFAULT | unit,
                config.least,
                config.most,
                Some(IntegerConfig::read),
                Some(IntegerConfig::write),
                Some(apply::<C>),
                as_private_data(config),
            ))
        })
    }

    pub(crate) fn enum_config<C: Configs>(&self, config: &'static EnumConfig) -> Result<(), NotRegistered> {
        let mut keywords: Vec<*const c_char> =
            config.keywords.iter().map(|keyword| keyword.as_ptr()).collect();
        let values: Vec<c_int> = (0..).take(keywords.len()).collect();
        let count = values.last().map_or(0, |last| last + 1);
        // SAFETY: as above; the server copies the keywords.
        registered(unsafe {
            api!(RegisterEnumConfig(
                self.ctx,
                config.name.as_ptr(),
                0,
                raw::CONFIG_DEFAULT,
                keywords.as_mut_ptr(),
                values.as_ptr(),
                count,
                Some(EnumConfig::read),
                Some(EnumConfig::write),
                Some(apply::<C>),
                as_private_data(config),
            ))
        })
    }

    pub(crate) fn text_config<C: Configs, T: Clone>(
        &self,
        config: &'static TextConfig<T>,
    ) -> Result<(), NotRegistered> {
        config.set(config.default.to_bytes()).map_err(|_| NotRegistered)?;
        // SAFETY: as above.
        registered(unsafe {
            api!(RegisterStringConfig(
                self.ctx,
                config.name.as_ptr(),
                config.default.as_ptr(),
                raw::CONFIG_DEFAULT,
                Some(TextConfig::<T>::read),
                Some(TextConfig::<T>::write),
                Some(apply::<C>),
                as_private_data(config),
            ))
        })
    }

    /// Applies the server's configuration file to the registered configs.
    pub(crate) fn load_configs(&self) -> Result<(), NotRegistered> {
        // SAFETY: the server is loading the module with this context.
        registered(unsafe { api!(LoadConfigs(self.ctx)) })
    }
}
