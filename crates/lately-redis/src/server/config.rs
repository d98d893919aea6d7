//! Configs: what `CONFIG SET` sets.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU64, Ordering};

use super::raw;

use super::call::Argument;
use super::loading::{Loading, Refused, accepted};
use super::{ERR, OK, api, guarded};
use crate::failure::Failure;

/// A whole number.
pub(crate) struct NumberConfig {
    pub(crate) name: &'static CStr,
    pub(crate) default: i64,
    pub(crate) least: i64,
    pub(crate) most: i64,
    /// Whether it may be given like `100mb`.
    pub(crate) is_memory: bool,
    value: AtomicI64,
}

impl NumberConfig {
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
        // SAFETY: what was registered with this function is a config that lives for ever.
        unsafe { &*config.cast::<Self>() }.value.load(Ordering::Relaxed)
    }

    /// The server has checked the limits.
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

/// One of some words.
pub(crate) struct WordConfig {
    name: &'static CStr,
    /// The first is the default.
    words: &'static [&'static CStr],
    value: AtomicI32,
}

impl WordConfig {
    pub(crate) const fn new(name: &'static CStr, words: &'static [&'static CStr]) -> Self {
        Self { name, words, value: AtomicI32::new(0) }
    }

    /// Which word it is.
    pub(crate) fn get(&self) -> usize {
        self.value.load(Ordering::Relaxed).try_into().unwrap_or(0)
    }

    extern "C" fn read(_name: *const c_char, config: *mut c_void) -> c_int {
        // SAFETY: what was registered with this function is a config that lives for ever.
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

/// A real number, which the server knows as text.
pub(crate) struct TextConfig {
    name: &'static CStr,
    default: &'static CStr,
    parse: fn(&[u8]) -> Result<f64, Failure>,
    value: AtomicU64,
    /// The text as it was given: what the server is shown is ours to keep.
    text: AtomicPtr<raw::String>,
}

impl TextConfig {
    pub(crate) const fn new(
        name: &'static CStr,
        default: &'static CStr,
        value: f64,
        parse: fn(&[u8]) -> Result<f64, Failure>,
    ) -> Self {
        let (value, text) = (AtomicU64::new(value.to_bits()), AtomicPtr::new(ptr::null_mut()));
        Self { name, default, parse, value, text }
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.value.load(Ordering::Relaxed))
    }

    fn set(&self, text: &[u8]) -> Result<(), Failure> {
        let value = (self.parse)(text)?;
        self.value.store(value.to_bits(), Ordering::Relaxed);
        let old = self.text.swap(string(text), Ordering::Relaxed);
        if !old.is_null() {
            // SAFETY: made by `string`; the server is not looking at it while it sets the config.
            unsafe { api!(FreeString(ptr::null_mut(), old)) };
        }
        Ok(())
    }

    extern "C" fn read(_name: *const c_char, config: *mut c_void) -> *mut raw::String {
        // SAFETY: what was registered with this function is a config that lives for ever.
        unsafe { &*config.cast::<Self>() }.text.load(Ordering::Relaxed)
    }

    extern "C" fn write(
        _name: *const c_char,
        value: *mut raw::String,
        config: *mut c_void,
        error: *mut *mut raw::String,
    ) -> c_int {
        // SAFETY: as above, and `error` is where the server wants a message.
        unsafe { answered(|| (*config.cast::<Self>()).set(Argument(value).as_ref()), error) }
    }
}

/// A string of the server's that is ours.
fn string(bytes: &[u8]) -> *mut raw::String {
    // SAFETY: the server copies the bytes; without a context the string lives until it is freed.
    unsafe { api!(CreateString(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len())) }
}

/// # Safety
/// `error` is where the server wants a message; the string is its own then.
unsafe fn answered(work: impl FnOnce() -> Result<(), Failure>, error: *mut *mut raw::String) -> c_int {
    let failure = match guarded(work) {
        Some(Ok(())) => return OK,
        Some(Err(Failure::Refused(message))) => message,
        _ => "the module failed".into(),
    };
    // SAFETY: as the caller promises.
    unsafe { error.write(string(failure.as_bytes())) };
    ERR
}

/// After one or more configs were set.
extern "C" fn apply(_ctx: *mut raw::Ctx, _config: *mut c_void, error: *mut *mut raw::String) -> c_int {
    // SAFETY: `error` is where the server wants a message.
    unsafe { answered(crate::configs::were_set, error) }
}

fn as_private_data<T>(config: &'static T) -> *mut c_void {
    ptr::from_ref(config).cast_mut().cast()
}

impl Loading {
    pub(crate) fn number_config(&self, config: &'static NumberConfig) -> Result<(), Refused> {
        let unit = if config.is_memory { raw::CONFIG_MEMORY } else { 0 };
        // SAFETY: the config lives for ever and is what the functions expect.
        accepted(unsafe {
            api!(RegisterNumericConfig(
                self.ctx,
                config.name.as_ptr(),
                config.default,
                raw::CONFIG_DEFAULT | unit,
                config.least,
                config.most,
                Some(NumberConfig::read),
                Some(NumberConfig::write),
                Some(apply),
                as_private_data(config),
            ))
        })
    }

    pub(crate) fn word_config(&self, config: &'static WordConfig) -> Result<(), Refused> {
        let mut words: Vec<*const c_char> = config.words.iter().map(|word| word.as_ptr()).collect();
        let values: Vec<c_int> = (0..).take(words.len()).collect();
        let count = values.last().map_or(0, |last| last + 1);
        // SAFETY: as above; the server copies the words.
        accepted(unsafe {
            api!(RegisterEnumConfig(
                self.ctx,
                config.name.as_ptr(),
                0,
                raw::CONFIG_DEFAULT,
                words.as_mut_ptr(),
                values.as_ptr(),
                count,
                Some(WordConfig::read),
                Some(WordConfig::write),
                Some(apply),
                as_private_data(config),
            ))
        })
    }

    pub(crate) fn text_config(&self, config: &'static TextConfig) -> Result<(), Refused> {
        config.set(config.default.to_bytes()).map_err(|_| Refused)?;
        // SAFETY: as above.
        accepted(unsafe {
            api!(RegisterStringConfig(
                self.ctx,
                config.name.as_ptr(),
                config.default.as_ptr(),
                raw::CONFIG_DEFAULT,
                Some(TextConfig::read),
                Some(TextConfig::write),
                Some(apply),
                as_private_data(config),
            ))
        })
    }

    /// Takes what the server's configuration file says of the configs registered.
    pub(crate) fn load_configs(&self) -> Result<(), Refused> {
        // SAFETY: the context is that of the loading.
        accepted(unsafe { api!(LoadConfigs(self.ctx)) })
    }
}
