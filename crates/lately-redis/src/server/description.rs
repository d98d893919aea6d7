//! Descriptions of commands, for `COMMAND DOCS` and `COMMAND INFO`.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr;

use crate::raw;

/// The description of a command.
pub(crate) struct Description {
    pub(super) name: &'static CStr,
    summary: &'static CStr,
    complexity: &'static CStr,
    is_fast: bool,
    /// How the command uses its key, the first argument; `None` if it has no key.
    pub(super) key: Option<KeyUse>,
    /// The parameters after the key.
    parameters: &'static [Parameter],
}

impl Description {
    pub(crate) const fn new(
        name: &'static CStr,
        summary: &'static CStr,
        key: Option<KeyUse>,
        parameters: &'static [Parameter],
    ) -> Self {
        Self { name, summary, complexity: c"O(1)", is_fast: false, key, parameters }
    }

    /// Sets the time complexity; without it, the complexity is O(1).
    pub(crate) const fn takes(self, complexity: &'static CStr) -> Self {
        Self { complexity, ..self }
    }

    /// Marks the command as fast: its time is constant.
    pub(crate) const fn fast(self) -> Self {
        Self { is_fast: true, ..self }
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.key, Some(KeyUse::Creates | KeyUse::Inserts))
    }

    /// The server refuses commands that always need memory when it has reached `maxmemory`. The others look for
    /// themselves.
    pub(super) fn flags(&self) -> &'static CStr {
        match (self.key, self.is_fast) {
            (Some(KeyUse::Creates), true) => c"write deny-oom fast",
            (Some(KeyUse::Creates), false) => c"write deny-oom",
            (Some(KeyUse::Inserts), true) => c"write fast",
            (Some(KeyUse::Inserts), false) => c"write",
            (Some(KeyUse::Reads) | None, true) => c"readonly fast",
            (Some(KeyUse::Reads) | None, false) => c"readonly",
        }
    }

    /// Returns the categories for access control, on servers where modules can have their own category. With
    /// its own category, the module must list the others too: the server does not derive them then.
    pub(super) fn categories(&self) -> &'static CStr {
        match (self.writes(), self.is_fast) {
            (true, true) => c"apbf write fast",
            (true, false) => c"apbf write slow",
            (false, true) => c"apbf read fast",
            (false, false) => c"apbf read slow",
        }
    }

    /// Returns the number of arguments including the name; negative if it is a minimum.
    fn arity(&self) -> c_int {
        let parameters = self.key_and_parameters();
        let least = 1 + parameters.iter().map(Parameter::least_arguments).sum::<c_int>();
        if parameters.iter().all(|parameter| parameter.flags == 0) { least } else { -least }
    }

    fn key_and_parameters(&self) -> Vec<Parameter> {
        self.key.map(|_| Parameter::KEY).into_iter().chain(self.parameters.iter().copied()).collect()
    }
}

/// How a command uses its key.
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    Reads,
    /// Creates the key; fails if it exists.
    Creates,
    /// Adds to the key, and may create it.
    Inserts,
}

impl KeyUse {
    fn flags(self) -> u64 {
        match self {
            Self::Reads => raw::CMD_KEY_RO | raw::CMD_KEY_ACCESS,
            Self::Creates => raw::CMD_KEY_OW | raw::CMD_KEY_INSERT,
            Self::Inserts => raw::CMD_KEY_RW | raw::CMD_KEY_ACCESS | raw::CMD_KEY_INSERT,
        }
    }
}

/// A documented parameter of a command.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    name: &'static CStr,
    kind: c_uint,
    token: Option<&'static CStr>,
    flags: c_int,
    of: &'static [Parameter],
}

impl Parameter {
    const KEY: Self = Self::new(c"key", raw::ARG_TYPE_KEY);
    pub(crate) const ITEM: Self = Self::text(c"item");
    pub(crate) const ITEMS: Self = Self::ITEM.with(raw::CMD_ARG_MULTIPLE);

    const fn new(name: &'static CStr, kind: c_uint) -> Self {
        Self { name, kind, token: None, flags: raw::CMD_ARG_NONE, of: &[] }
    }

    pub(crate) const fn text(name: &'static CStr) -> Self {
        Self::new(name, raw::ARG_TYPE_STRING)
    }

    pub(crate) const fn integer(name: &'static CStr) -> Self {
        Self::new(name, raw::ARG_TYPE_INTEGER)
    }

    pub(crate) const fn real(name: &'static CStr) -> Self {
        Self::new(name, raw::ARG_TYPE_DOUBLE)
    }

    /// An option without a value.
    pub(crate) const fn keyword(name: &'static CStr, keyword: &'static CStr) -> Self {
        Self::new(name, raw::ARG_TYPE_PURE_TOKEN).after(keyword)
    }

    pub(crate) const fn one_of(name: &'static CStr, of: &'static [Self]) -> Self {
        let one = Self::new(name, raw::ARG_TYPE_ONEOF);
        Self { of, ..one }
    }

    pub(crate) const fn all_of(name: &'static CStr, of: &'static [Self]) -> Self {
        let all = Self::new(name, raw::ARG_TYPE_BLOCK);
        Self { of, ..all }
    }

    /// Sets the keyword that comes before the value.
    pub(crate) const fn after(self, keyword: &'static CStr) -> Self {
        Self { token: Some(keyword), ..self }
    }

    pub(crate) const fn optional(self) -> Self {
        self.with(raw::CMD_ARG_OPTIONAL)
    }

    const fn with(self, flags: c_int) -> Self {
        Self { flags: self.flags | flags, ..self }
    }

    /// Returns the minimum number of arguments. Every `all_of` group is optional, so its arguments do not
    /// count.
    fn least_arguments(&self) -> c_int {
        let is_optional = self.flags & raw::CMD_ARG_OPTIONAL != 0;
        if is_optional { 0 } else { 1 + c_int::from(self.token.is_some()) }
    }

    fn is_key(&self) -> bool {
        self.kind == raw::ARG_TYPE_KEY
    }
}

const NOTHING: raw::CommandArg = raw::CommandArg {
    name: ptr::null(),
    r#type: 0,
    key_spec_index: 0,
    token: ptr::null(),
    summary: ptr::null(),
    since: ptr::null(),
    flags: 0,
    deprecated_since: ptr::null(),
    subargs: ptr::null_mut(),
    display_text: ptr::null(),
};

/// Converts parameters to the server's list format, which ends with an empty entry. `kept` owns the inner
/// lists, so that the pointers to them stay valid.
fn listed(parameters: &[Parameter], kept: &mut Vec<Box<[raw::CommandArg]>>) -> Vec<raw::CommandArg> {
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
            raw::CommandArg {
                name: parameter.name.as_ptr(),
                r#type: parameter.kind,
                key_spec_index: if parameter.is_key() { 0 } else { -1 },
                token: parameter.token.map_or(ptr::null(), CStr::as_ptr),
                flags: parameter.flags,
                subargs,
                ..NOTHING
            }
        })
        .collect();
    list.push(NOTHING);
    list
}

/// Calls `hand_over` with the description in the server's format. The pointer is valid during this call only.
pub(super) fn with_info<T>(
    description: &Description,
    hand_over: impl FnOnce(*const raw::CommandInfo) -> T,
) -> T {
    let version = raw::CommandInfoVersion {
        version: 1,
        sizeof_historyentry: size_of::<raw::CommandHistoryEntry>(),
        sizeof_keyspec: size_of::<raw::CommandKeySpec>(),
        sizeof_arg: size_of::<raw::CommandArg>(),
    };
    // SAFETY: the structure consists of numbers and raw pointers, for which zero is a valid value ("none").
    let no_key: raw::CommandKeySpec = unsafe { std::mem::zeroed() };
    let first_argument = |key: KeyUse| {
        let mut spec = no_key;
        spec.flags = key.flags();
        spec.begin_search_type = raw::KSPEC_BS_INDEX;
        spec.bs.index = 1;
        spec.find_keys_type = raw::KSPEC_FK_RANGE;
        spec.fk = raw::KeyRange { lastkey: 0, keystep: 1, limit: 0 };
        spec
    };
    let mut keys: Vec<_> = description.key.map(first_argument).into_iter().chain([no_key]).collect();
    let mut kept = Vec::new();
    let mut arguments = listed(&description.key_and_parameters(), &mut kept);
    hand_over(&raw::CommandInfo {
        version: &raw const version,
        summary: description.summary.as_ptr(),
        complexity: description.complexity.as_ptr(),
        // The release that introduced the command, which stays when the version grows.
        since: c"0.1.0".as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: description.arity(),
        key_specs: keys.as_mut_ptr(),
        args: arguments.as_mut_ptr(),
    })
}
