"""A C compiler checks every signature, structure and constant of `src/raw.rs` against the servers' header."""

import json
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

RAW = (ROOT / "crates/lately-redis/src/raw.rs").read_text()
# The crate that contains the header. It is only downloaded, not compiled.
CARRIER = "valkey-module"
MANIFEST = f"""[package]
name = "header"
version = "0.0.0"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies]
{CARRIER} = {{ version = "=0.1.15", default-features = false }}
[workspace]
"""
# Parts of a structure that have no type name in the header: our fields, and the header's.
UNNAMED = {
    "BeginSearch": {"index": "index.pos", "keyword.keyword": "keyword.keyword", "keyword.startfrom": "keyword.startfrom"},
    "KeyRange": {"lastkey": "range.lastkey", "keystep": "range.keystep", "limit": "range.limit"},
}
# Types that only we name.
OURS = {"Keyword", *UNNAMED}
C_TYPES = {
    "c_char": "char", "c_double": "double", "c_int": "int", "c_long": "long", "c_longlong": "long long",
    "c_uint": "unsigned int", "c_ulonglong": "unsigned long long", "c_void": "void", "u64": "uint64_t", "usize": "size_t",
}


def c_type(rust):
    """Converts a type of raw.rs to C. Callbacks and structures have the header's names."""
    rust = rust.strip()
    if optional := re.fullmatch(r"Option<(\w+)>", rust):
        return c_type(optional[1])
    if rust in OURS:
        return rust
    if pointer := re.fullmatch(r"\*(mut|const) (.+)", rust):
        to = c_type(pointer[2])
        return f"{to} const *" if pointer[1] == "const" else f"{to} *"
    return C_TYPES.get(rust) or f"RedisModule{rust}"


def c_signature(parameters, returned):
    types = [re.sub(r"^\w+: ", "", text.strip()) for text in parameters.split(",") if text.strip()]
    listed = ", ".join("..." if text == "..." else c_type(text) for text in types)
    return f"{c_type(returned) if returned else 'void'} (*)({listed or 'void'})"


def same_type(name, wanted):
    return f'_Static_assert(__builtin_types_compatible_p(__typeof__({name}), {wanted}), "{name}");'


def declarations():
    """Reads raw.rs: functions, callbacks, constants, and structures with their fields. Fails if one is overlooked."""
    code = RAW[: RAW.index("type GetApi")]
    listed = code[code.index("functions! {") :]
    functions = re.findall(r"^ +fn (\w+)\(([^)]*)\)(?: -> ([^;]+))?;", listed, re.M)
    callbacks = re.findall(r"^pub\(crate\) type (\w+) =\s*unsafe extern \"C\" fn\(([^)]*)\)(?: -> ([^;]+))?;", code, re.M)
    constants = re.findall(r"^pub\(crate\) const (\w+): \w+ = ([^;]+);", code, re.M)
    structures = re.findall(
        r"^#\[repr\(C\)\]\n(?:#[^\n]*\n)*pub\(crate\) (struct|union) (\w+) \{\n(.*?)\n\}", code, re.S | re.M
    )
    for found, pattern in (
        (functions, r"\bfn \w+\("), (callbacks, r"^pub\(crate\) type "), (constants, r"^pub\(crate\) const "),
        (structures, r"^pub\(crate\) (?:struct|union) (?!Function<)"),
    ):  # fmt: skip
        text = listed if found is functions else code
        assert len(found) == len(re.findall(pattern, text, re.M)), pattern
    fields = {
        name: (kind, [(field.removeprefix("r#"), of) for field, of in re.findall(r"pub\(crate\) ([\w#]+): (.+),$", body, re.M)])
        for kind, name, body in structures
    }
    return functions, callbacks, constants, fields


def same_place(theirs, their_field, ours, our_field):
    name = f"{ours}.{our_field}"
    return f'_Static_assert(offsetof({theirs}, {their_field}) == offsetof({ours}, {our_field}), "{name}");'


def checks():
    functions, callbacks, constants, structures = declarations()
    for name, parameters, returned in callbacks:
        yield same_type(f"(RedisModule{name})0", c_signature(parameters, returned))
    for name, parameters, returned in functions:
        yield same_type(f"RedisModule_{name}", c_signature(parameters, returned))
    for name, value in constants:
        yield f'_Static_assert(REDISMODULE_{name} == ({value}), "{name}");'
    # The parts come before the structures that contain them.
    parts = ["Keyword", *UNNAMED]
    for name in [*parts, *(name for name in structures if name not in parts)]:
        kind, fields = structures[name]
        ours, theirs = (name if name in OURS else f"our_{name}"), f"RedisModule{name}"
        yield f"typedef {kind} {{ {' '.join(f'{c_type(of)} {field};' for field, of in fields)} }} {ours};"
        if name in OURS:
            continue
        for field, of in fields:
            if of in UNNAMED:
                for mine, header in UNNAMED[of].items():
                    yield same_type(f"(({theirs} *)0)->{field}.{header}", f"__typeof__((({ours} *)0)->{field}.{mine})")
                    yield same_place(theirs, f"{field}.{header}", ours, f"{field}.{mine}")
            else:
                yield same_type(f"(({theirs} *)0)->{field}", c_type(of))
            yield same_place(theirs, field, ours, field)
        # Of the methods, servers read the fields of the given version: aux_save2 is the first of a later one.
        size = f"offsetof({theirs}, aux_save2)" if name == "TypeMethods" else f"sizeof({theirs})"
        yield f'_Static_assert({size} == sizeof({ours}), "{name}");'


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    directory = tmp_path_factory.mktemp("header")
    (directory / "Cargo.toml").write_text(MANIFEST)
    (directory / "lib.rs").touch()
    found = subprocess.run(
        ["cargo", "metadata", "--format-version", "1"], cwd=directory, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    package = next(package for package in json.loads(found.stdout)["packages"] if package["name"] == CARRIER)
    return ROOT.joinpath(package["manifest_path"]).parent / "src/include/redismodule.h"


def compile_c(header, lines):
    source = "\n".join(["#include <stddef.h>", "#include <stdint.h>", f'#include "{header}"', *lines])
    command = [shutil.which("cc"), "-x", "c", "-std=gnu11", "-w", "-fsyntax-only", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True)


def test_every_declaration_matches_the_header(header):
    lines = list(checks())
    compiled = compile_c(header, lines)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("name: *mut String, mode: c_int) -> *mut Key", "name: *mut String) -> *mut Key"),
        ("StringPtrLen(string: *const String", "StringPtrLen(string: *mut String"),
        ("type InfoFunc = unsafe extern \"C\" fn(*mut InfoCtx, c_int)", "type InfoFunc = unsafe extern \"C\" fn(*mut InfoCtx, c_long)"),
        ("const WRITE: c_int = 1 << 1", "const WRITE: c_int = 1 << 0"),
        ("lastkey: c_int,\n    pub(crate) keystep: c_int", "keystep: c_int,\n    pub(crate) lastkey: c_int"),
        ("    pub(crate) copy2: Option<TypeCopyFunc2>,\n", ""),
        ("pub(crate) sizeof_keyspec: usize,\n", "pub(crate) sizeof_keyspec: c_int,\n"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_detected(header, monkeypatch, right, wrong):
    assert right in RAW
    monkeypatch.setitem(globals(), "RAW", RAW.replace(right, wrong))
    assert "static assertion failed" in compile_c(header, checks()).stderr


def test_a_declaration_that_is_not_understood_is_detected(monkeypatch):
    monkeypatch.setitem(globals(), "RAW", RAW.replace("#[repr(C)]\npub(crate) struct CommandInfo {", "pub(crate) struct CommandInfo {"))
    with pytest.raises(AssertionError):
        declarations()
