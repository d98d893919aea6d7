//! The modules of a directory must not use each other in a circle: nothing below knows anything above.
//!
//! A directory's modules are its files and subdirectories. One uses another if a `use` in it, or a path that
//! starts with `crate`, `super` or `self`, leads there, also through a `use` in a third module. Tests do not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};

/// Names from the root of a crate: the module `layout/rows/mod.rs` is `["layout", "rows"]`.
type Names = Vec<String>;
/// A word or sign of the code, and its line.
type Token = (String, usize);

#[derive(Default)]
struct Source {
    modules: BTreeSet<Names>,
    test_modules: Vec<Names>,
    /// The paths in the code, with their module and place.
    paths: Vec<(Names, Names, String)>,
    /// What modules know from a `use`, and its path there.
    imports: BTreeMap<Names, Names>,
}

impl Source {
    fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut source = Self::default();
        for (file, text) in files {
            let names = file.trim_end_matches(".rs").split('/').map(String::from);
            let module: Names =
                names.filter(|name| !["lib", "main", "mod"].contains(&name.as_str())).collect();
            source.read_code(text.parse().unwrap_or_else(|error| panic!("{file}: {error}")), &module, file);
            source.modules.insert(module);
        }
        source
    }

    fn read_code(&mut self, code: TokenStream, module: &[String], file: &str) {
        let mut tokens = Vec::new();
        self.flatten(code, module, file, &mut tokens);
        for at in 0..tokens.len() {
            let mut paths = Vec::new();
            match word(&tokens, at) {
                "use" => {
                    read_path(&tokens, at + 1, &[], &mut paths);
                    let imports = paths.iter().filter(|(_, name, _)| name != "*");
                    self.imports.extend(imports.map(|(path, name, _)| (child(module, name), path.clone())));
                }
                "crate" | "super" | "self" => drop(read_path(&tokens, at, &[], &mut paths)),
                _ => {}
            }
            let place = |line| format!("{file}:{line}");
            self.paths.extend(paths.into_iter().map(|(path, _, line)| (module.to_vec(), path, place(line))));
        }
    }

    /// Appends the tokens of the code, without tests. A module inside the code is read on its own.
    fn flatten(&mut self, code: TokenStream, module: &[String], file: &str, tokens: &mut Vec<Token>) {
        let mut code = code.into_iter();
        while let Some(tree) = code.next() {
            let (text, line) = (tree.to_string(), tree.span().start().line);
            let before = |back| tokens.len().checked_sub(back).map_or("", |at| word(tokens, at));
            match tree {
                TokenTree::Group(_) if before(1) == "#" && is_for_tests(&text) => {
                    let mut item = Vec::new();
                    code.find(|tree| {
                        item.push(tree.to_string());
                        item.last().is_some_and(|word| word == ";" || word.starts_with('{'))
                    });
                    let name = item.iter().skip_while(|word| *word != "mod").nth(1);
                    self.test_modules.extend(name.map(|name| child(module, name)));
                }
                TokenTree::Group(group) if before(2) == "mod" => {
                    self.read_code(group.stream(), &child(module, before(1)), file);
                }
                TokenTree::Group(group) => {
                    tokens.push((text[..1].to_owned(), line));
                    self.flatten(group.stream(), module, file, tokens);
                    tokens.push((text[text.len() - 1..].to_owned(), line));
                }
                TokenTree::Punct(_) if text == ":" && before(1) == ":" => {
                    tokens.last_mut().unwrap().0.push(':');
                }
                _ => tokens.push((text, line)),
            }
        }
    }

    /// Returns the module that a path in `module` leads to: this one, if it leads to another crate.
    fn target(&self, module: &[String], path: &[String]) -> Names {
        let mut target = module.to_vec();
        for (at, name) in path.iter().enumerate() {
            let next = child(&target, name);
            match (name.as_str(), self.imports.get(&next)) {
                ("crate", _) => target.clear(),
                ("super", _) => drop(target.pop()),
                ("self", _) => {}
                _ if self.modules.contains(&next) => target = next,
                // `use name::name` is about another crate.
                (_, Some(import)) if import[0] != *name => {
                    return self.target(&target, &[import, &path[at + 1..]].concat());
                }
                _ => break,
            }
        }
        target
    }

    /// Returns which module uses which one, and where, for all that are part of a circle.
    fn circles(&self) -> Vec<String> {
        let mut uses = BTreeMap::new();
        let is_test = |module: &Names| self.test_modules.iter().any(|test| module.starts_with(test));
        for (module, path, place) in self.paths.iter().filter(|(module, ..)| !is_test(module)) {
            // A module inside a file counts as the file.
            let (user, used) = (self.target(&[], module), self.target(module, path));
            let directory = user.iter().zip(&used).take_while(|(user, used)| user == used).count();
            if user.len() > directory && used.len() > directory {
                uses.entry([user, used].map(|module| module[..=directory].join("::"))).or_insert(place);
            }
        }
        let leads_to = |start, end| {
            let mut reached = vec![start];
            let mut at = 0;
            while at < reached.len() {
                let next = uses.keys().filter(|[user, _]| user == reached[at]).map(|[_, used]| used);
                reached.extend(next.filter(|used| !reached.contains(used)).collect::<Vec<_>>());
                at += 1;
            }
            reached.contains(&end)
        };
        let in_circle = uses.iter().filter(|([user, used], _)| leads_to(used, user));
        in_circle.map(|([user, used], place)| format!("{user} uses {used}: {place}")).collect()
    }
}

fn child(module: &[String], name: &str) -> Names {
    [module, &[name.to_owned()]].concat()
}

fn word(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |(word, _)| word)
}

fn is_for_tests(attribute: &str) -> bool {
    let attribute = attribute.replace(' ', "");
    attribute.starts_with("[cfg(test)") || attribute.starts_with("[cfg(all(test,")
}

/// Reads a path, or all paths in its braces: `a::{b, c as d}` is `a::b` and `a::c`, named `b` and `d`.
/// `above` stands before the braces. Returns where the path ends.
fn read_path(
    tokens: &[Token],
    mut at: usize,
    above: &[String],
    paths: &mut Vec<(Names, String, usize)>,
) -> usize {
    let mut path = above.to_vec();
    loop {
        match word(tokens, at) {
            "{" => {
                while !["}", ""].contains(&word(tokens, at)) {
                    at = read_path(tokens, at + 1, &path, paths);
                }
                return at + 1;
            }
            "}" | "" => return at,
            "self" if !above.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
        if word(tokens, at) != "::" {
            break;
        }
        at += 1;
    }
    let line = tokens[at - 1].1;
    let mut name = path.last().cloned().unwrap_or_default();
    if word(tokens, at) == "as" {
        word(tokens, at + 1).clone_into(&mut name);
        at += 2;
    }
    paths.push((path, name, line));
    at
}

fn read_files(directory: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = format!("{prefix}{}", path.file_name().unwrap().display());
        if path.is_dir() {
            read_files(&path, &format!("{name}/"), files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
}

#[test]
fn no_crate_has_a_circle() {
    let mut circles = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates");
    for package in fs::read_dir(crates).unwrap().map(Result::unwrap) {
        let (name, mut files) = (package.file_name(), Vec::new());
        read_files(&package.path().join("src"), "", &mut files);
        let source = Source::read(files.iter().map(|(file, text)| (file.as_str(), text.as_str())));
        circles.extend(source.circles().iter().map(|line| format!("{}: {line}\n", name.display())));
    }
    let remedy = "move what both sides need into a module below them, or hand it in from above";
    assert!(circles.is_empty(), "these modules use each other in circles; {remedy}:\n{}", circles.concat());
}

fn circles(files: &[&str]) -> Vec<String> {
    Source::read(files.iter().map(|file| file.split_once(": ").unwrap())).circles()
}

#[test]
fn circles_are_found() {
    let two = ["a uses b: a.rs:1", "b uses a: b.rs:2"];
    assert_eq!(circles(&["a.rs: use crate::b::B;", "b.rs: \nfn f() { g(crate::a::A) }"]), two);
    // In a macro; from a module inside a file.
    assert_eq!(
        circles(&["a.rs: macro_rules! m { () => { $crate::b::f() } }", "b.rs: \nuse super::a::*;"]),
        two
    );
    assert_eq!(circles(&["a.rs: mod m { use super::super::b; }", "b.rs: \nuse crate::a;"]), two);
    // After code for tests.
    assert_eq!(
        circles(&["a.rs: #[cfg(test)] fn f(x: [u8; 2]) {} use crate::b;", "b.rs: \nuse crate::a;"]),
        two
    );

    // Three in a circle, with neighbours.
    let directory = ["a/mod.rs: mod x;", "a/x.rs: use crate::{\n    d::D,\n    b::{self, B as C},\n};"];
    let files = [
        "b.rs: use super::c;",
        "c.rs: use crate::{a, e};",
        "d.rs: use crate::e;",
        "e.rs: ",
        "f.rs: use crate::c;",
    ];
    let three = ["a uses b: a/x.rs:3", "b uses c: b.rs:1", "c uses a: c.rs:1"];
    assert_eq!(circles(&[&directory[..], &files].concat()), three);

    // Inside a directory; through names that `mod.rs` has from a `use`.
    let two = ["d::a uses d::b: d/a.rs:1", "d::b uses d::a: d/b/mod.rs:1"];
    assert_eq!(
        circles(&["d/mod.rs: mod a; mod b;", "d/a.rs: use super::b;", "d/b/mod.rs: use crate::d::a::A;"]),
        two
    );
    let parent = "d/mod.rs: mod a; mod b; pub use a::A as C; use self::b::B;";
    assert_eq!(circles(&[parent, "d/a.rs: use super::B;", "d/b/mod.rs: impl super::C {}"]), two);
}

#[test]
fn nothing_else_is_a_circle() {
    let none: [&str; 0] = [];
    assert_eq!(
        circles(&["a.rs: use crate::{b::B, c::C};", "b.rs: use crate::c::C;", "c.rs: use std::a::A;"]),
        none
    );
    // A module and its parts may know each other.
    assert_eq!(
        circles(&["d/mod.rs: mod a; use a::A; struct B;", "d/a.rs: use super::B; use crate::d::C;"]),
        none
    );
    // Comments, strings and tests.
    let unread = "b.rs: //! [x](crate::a)\n/* crate::a */ const T: &str = r#\"crate::a\"#;";
    assert_eq!(circles(&["a.rs: use crate::b;", unread]), none);
    let test =
        "b/mod.rs: #[cfg(test)] mod tests; #[cfg(all(test, unix))] fn f() -> [u8; 2] { crate::a::f() }";
    let tests = ["b/tests.rs: use crate::a;", "b/c.rs: #[cfg(test)] pub(crate) mod m { use crate::a; }"];
    assert_eq!(circles(&["a.rs: use crate::b;", test, tests[0], tests[1]]), none);
    // `super` in a module inside a file is the file.
    assert_eq!(
        circles(&[
            "d.rs: mod a; mod b;",
            "d/a.rs: use super::b;",
            "d/b.rs: mod m { use super::a; } mod a {}"
        ]),
        none
    );
}
