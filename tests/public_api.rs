//! The public items of `lately` are listed in `crates/lately/public-api.txt`, so that each change of them is
//! seen. The list leaves out blanket and auto trait implementations, and the methods of the other ones,
//! because the trait has them.

use std::collections::BTreeSet;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const UPDATE: &str = "UPDATE=1 cargo test -p lately-tests --test public_api";
/// The version of rustdoc's JSON that `public-api` reads.
const FORMAT: u64 = 57;

fn rustdoc_json(package: &Path) -> PathBuf {
    // A directory of its own: otherwise the settings below would rebuild what other tests have built.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("public-api");
    let rustdoc = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustdoc", "--locked", "--lib", "--all-features", "--target-dir"])
        .arg(&target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"])
        .current_dir(package)
        // Stable rustdoc writes JSON only for crates that are named here.
        .env("RUSTC_BOOTSTRAP", "lately")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env_remove("RUSTDOCFLAGS")
        .output()
        .unwrap();
    assert!(rustdoc.status.success(), "{}", String::from_utf8_lossy(&rustdoc.stderr));
    target.join("doc/lately.json")
}

fn public_items(json: &Path) -> Vec<String> {
    let builder = public_api::Builder::from_rustdoc_json(json).include_function_parameter_names(true);
    let api = builder.omit_blanket_impls(true).omit_auto_trait_impls(true).build().unwrap();
    let mut trait_impls = BTreeSet::new();
    let mut lines: Vec<String> = Vec::new();
    for item in api.items() {
        let line = item.to_string();
        if line.starts_with("impl") && line.contains(" for ") {
            trait_impls.insert(item.id().0);
        }
        let is_method_of_trait = line.starts_with("pub fn")
            && item.parent_id().is_some_and(|parent| trait_impls.contains(&parent.0));
        // The compiler's part of `derive(PartialEq)`.
        let is_internal = line.contains("StructuralPartialEq");
        // A type can have several `impl` blocks.
        if !is_method_of_trait && !is_internal && !lines.contains(&line) {
            lines.push(line);
        }
    }
    // Which of these blocks has a function does not matter.
    let are_functions =
        |line: &String, next: &String| line.starts_with("pub fn") && next.starts_with("pub fn");
    lines.chunk_by_mut(are_functions).for_each(<[String]>::sort);
    lines
}

#[test]
fn public_items_are_those_in_the_list() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates").join("lately");
    let list = package.join("public-api.txt");
    let update = env::var_os("UPDATE").is_some_and(|value| value == "1");
    let json = rustdoc_json(&package);
    let header: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let format = &header["format_version"];
    if *format != FORMAT {
        let why = format!(
            "this Rust writes version {format} of rustdoc's JSON, but public-api reads version {FORMAT}: \
             see tests/Cargo.toml"
        );
        assert!(!update, "cannot write {}: {why}", list.display());
        // Not `eprintln`, which is shown only if a test fails.
        writeln!(stderr(), "\nSKIPPED: the public items of lately are NOT checked: {why}").unwrap();
        return;
    }
    let items = public_items(&json);
    if update {
        fs::write(&list, items.join("\n") + "\n").unwrap();
        return;
    }
    let listed = fs::read_to_string(&list).unwrap();
    let removed = listed.lines().filter(|line| !items.iter().any(|item| item == line));
    let added = items.iter().filter(|item| !listed.lines().any(|line| line == *item));
    let changes: String =
        removed.map(|line| format!("- {line}\n")).chain(added.map(|item| format!("+ {item}\n"))).collect();
    assert!(
        changes.is_empty(),
        "the public items of lately have changed:\n{changes}\
         If this is intended, accept it, and see RELEASING.md for the version that it needs:\n  {UPDATE}"
    );
}
