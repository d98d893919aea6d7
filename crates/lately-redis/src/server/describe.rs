//! What `COMMAND DOCS` and `COMMAND INFO` say of a command.

use std::ffi::{CStr, c_int};
use std::ptr;

use valkey_module::raw;

use super::call::Command;

/// What a command does to its key.
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    Reads,
    /// Creates it; fails if there is one.
    Creates,
    /// Adds to it, and may create it.
    Inserts,
}

impl KeyUse {
    fn flags(self) -> u64 {
        u64::from(match self {
            Self::Reads => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
            Self::Creates => raw::REDISMODULE_CMD_KEY_OW | raw::REDISMODULE_CMD_KEY_INSERT,
            Self::Inserts => {
                raw::REDISMODULE_CMD_KEY_RW
                    | raw::REDISMODULE_CMD_KEY_ACCESS
                    | raw::REDISMODULE_CMD_KEY_INSERT
            }
        })
    }
}

/// An argument of a command, as its documentation shows it.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    name: &'static CStr,
    kind: raw::RedisModuleCommandArgType,
    token: Option<&'static CStr>,
    flags: u32,
    of: &'static [Parameter],
}

impl Parameter {
    pub(crate) const KEY: Self = Self::new(c"key", raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY);
    pub(crate) const ITEM: Self = Self::text(c"item");
    pub(crate) const ITEMS: Self = Self::ITEM.with(raw::REDISMODULE_CMD_ARG_MULTIPLE);

    const fn new(name: &'static CStr, kind: raw::RedisModuleCommandArgType) -> Self {
        Self { name, kind, token: None, flags: raw::REDISMODULE_CMD_ARG_NONE, of: &[] }
    }

    pub(crate) const fn text(name: &'static CStr) -> Self {
        Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING)
    }

    pub(crate) const fn integer(name: &'static CStr) -> Self {
        Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER)
    }

    pub(crate) const fn real(name: &'static CStr) -> Self {
        Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE)
    }

    /// A word that says something by being there.
    pub(crate) const fn word(name: &'static CStr, word: &'static CStr) -> Self {
        Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN).after(word)
    }

    pub(crate) const fn one_of(name: &'static CStr, of: &'static [Self]) -> Self {
        let one = Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF);
        Self { of, ..one }
    }

    pub(crate) const fn all_of(name: &'static CStr, of: &'static [Self]) -> Self {
        let all = Self::new(name, raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK);
        Self { of, ..all }
    }

    /// The word that stands before it.
    pub(crate) const fn after(self, word: &'static CStr) -> Self {
        Self { token: Some(word), ..self }
    }

    pub(crate) const fn optional(self) -> Self {
        self.with(raw::REDISMODULE_CMD_ARG_OPTIONAL)
    }

    const fn with(self, flags: u32) -> Self {
        Self { flags: self.flags | flags, ..self }
    }

    fn is_key(&self) -> bool {
        self.kind == raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY
    }
}

const NOTHING: raw::RedisModuleCommandArg = raw::RedisModuleCommandArg {
    name: ptr::null(),
    type_: 0,
    key_spec_index: 0,
    token: ptr::null(),
    summary: ptr::null(),
    since: ptr::null(),
    flags: 0,
    deprecated_since: ptr::null(),
    subargs: ptr::null_mut(),
    display_text: ptr::null(),
};

/// Lists of the server's kind, which end with an empty entry. Inner lists are kept in `kept`, so that pointers to them
/// stay good.
fn listed(
    parameters: &[Parameter],
    kept: &mut Vec<Box<[raw::RedisModuleCommandArg]>>,
) -> Vec<raw::RedisModuleCommandArg> {
    let mut list: Vec<_> = parameters
        .iter()
        .map(|parameter| {
            let subargs = if parameter.of.is_empty() {
                ptr::null_mut()
            } else {
                let mut inner = listed(parameter.of, kept).into_boxed_slice();
                let first = inner.as_mut_ptr();
                kept.push(inner);
                first
            };
            raw::RedisModuleCommandArg {
                name: parameter.name.as_ptr(),
                type_: parameter.kind,
                key_spec_index: if parameter.is_key() { 0 } else { -1 },
                token: parameter.token.map_or(ptr::null(), CStr::as_ptr),
                flags: parameter.flags.cast_signed(),
                subargs,
                ..NOTHING
            }
        })
        .collect();
    list.push(NOTHING);
    list
}

/// Hands the description of a command over, in the server's terms.
pub(super) fn with_description<C: Command, T>(
    hand_over: impl FnOnce(*const raw::RedisModuleCommandInfo) -> T,
) -> T {
    let version = raw::RedisModuleCommandInfoVersion {
        version: 1,
        sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
        sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
        sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
    };
    // SAFETY: plain numbers and pointers, for which zero is "none".
    let no_key: raw::RedisModuleCommandKeySpec = unsafe { std::mem::zeroed() };
    let first_argument = |key: KeyUse| {
        let mut spec = no_key;
        spec.flags = key.flags();
        spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
        spec.bs.index.pos = 1;
        spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
        spec.fk.range =
            raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 { lastkey: 0, keystep: 1, limit: 0 };
        spec
    };
    let mut keys: Vec<_> = C::KEY.map(first_argument).into_iter().chain([no_key]).collect();
    let mut kept = Vec::new();
    let mut arguments = listed(C::PARAMETERS, &mut kept);
    let arity: c_int = C::ARITY;
    hand_over(&raw::RedisModuleCommandInfo {
        version: &raw const version,
        summary: C::SUMMARY.as_ptr(),
        complexity: C::COMPLEXITY.as_ptr(),
        since: c"0.1.0".as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity,
        key_specs: keys.as_mut_ptr(),
        args: arguments.as_mut_ptr(),
    })
}
