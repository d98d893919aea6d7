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
# Parts of unions, which have no names in the header.
UNNAMED = {"BeginSearch", "Keyword", "KeyRange"}
C_TYPES = {
    "c_char": "char", "c_double": "double", "c_int": "int", "c_long": "long", "c_longlong": "long long",
    "c_uint": "unsigned int", "c_ulonglong": "unsigned long long", "c_void": "void", "u64": "uint64_t", "usize": "size_t",
}


def c_type(rust):
    """Converts a type of raw.rs to C. Callbacks and structures have the header's names."""
    rust = rust.strip()
    if optional := re.fullmatch(r"Option<(\w+)>", rust):
        return c_type(optional[1])
    if rust == "FreePrivateData":
        return "void (*)(RedisModuleCtx *, void *)"
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


def checks():
    code = RAW[: RAW.index("type GetApi")]
    listed = code[code.index("functions! {") :]
    for name, parameters, returned in re.findall(r"fn (\w+)\(([^)]*)\)(?: -> ([^;]+))?;", listed):
        yield same_type(f"RedisModule_{name}", c_signature(parameters, returned))
    for name, parameters, returned in re.findall(
        r"type (\w+) =\s*unsafe extern \"C\" fn\(([^)]*)\)(?: -> ([^;]+))?;", code
    ):
        if name != "FreePrivateData":
            yield same_type(f"(RedisModule{name})0", c_signature(parameters, returned))
    for name, value in re.findall(r"const (\w+): \w+ = ([^;]+);", code):
        yield f'_Static_assert(REDISMODULE_{name} == ({value}), "{name}");'
    for name, body in re.findall(r"#\[repr\(C\)\]\n(?:#.*\n)*pub\(crate\) struct (\w+) \{\n(.*?)\n\}", code, re.S):
        if name in UNNAMED:
            continue
        fields = [
            (field.removeprefix("r#"), kind)
            for field, kind in re.findall(r"pub\(crate\) ([\w#]+): (.+),$", body, re.M)
        ]
        theirs = f"RedisModule{name}"
        for field, kind in fields:
            if kind not in UNNAMED:
                wanted = "int" if kind == "c_int" else c_type(kind)
                yield same_type(f"(({theirs} *)0)->{field}", wanted)
        yield f"struct {name} {{ {' '.join(declared(field, kind) for field, kind in fields)} }};"
        for field, _ in fields:
            yield f'_Static_assert(offsetof({theirs}, {field}) == offsetof(struct {name}, {field}), "{name}.{field}");'
        # The methods may be shorter than the header's: servers read only the fields of the given version.
        if name != "TypeMethods":
            yield f'_Static_assert(sizeof({theirs}) == sizeof(struct {name}), "{name}");'


def declared(field, kind):
    unions = {"BeginSearch": "struct { const char *keyword; int startfrom; }", "KeyRange": "struct { int a, b, c; }"}
    return f"{unions.get(kind) or c_type(kind)} {field};"


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
    # The regular expressions found functions, callbacks, constants and structures.
    for kind, least in (("RedisModule_", 60), ("Func)0", 20), ("REDISMODULE_", 30), ("offsetof", 35)):
        assert sum(kind in line for line in lines) >= least, kind
    compiled = compile_c(header, lines)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        same_type("RedisModule_OpenKey", c_signature("ctx: *mut Ctx, name: *mut String", "*mut Key")),
        same_type("RedisModule_StringPtrLen", c_signature("s: *mut String, len: *mut usize", "*const c_char")),
        same_type("(RedisModuleInfoFunc)0", c_signature("*mut InfoCtx, c_long", "")),
        '_Static_assert(REDISMODULE_WRITE == (1 << 0), "WRITE");',
    ],
)
def test_a_wrong_declaration_is_detected(header, wrong):
    assert "static assertion failed" in compile_c(header, [wrong]).stderr
