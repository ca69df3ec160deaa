//! Import circles between the source files of a crate.
//!
//! A file has an arrow to another if it imports from it or names a path into it: `use crate::…`, `use super::…`, `use
//! self::…`, `use child::…`, and the same paths inside code. The path leads to the file of the deepest module that it
//! names. An item that a module re-exports therefore leads to that module, and an item imported from the crate root
//! leads to `lib.rs`. A declaration `mod child;` alone is no arrow. Code under `#[cfg(test)]` does not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use super::tokens::{Token, after_bracket, after_semicolon, tokens, without_tests};

/// Source files by their path below `src`.
type Sources = BTreeMap<String, String>;
/// Names of nested modules, from the crate root.
type ModulePath = Vec<String>;

struct Module {
    file: String,
    /// The module within which this one is visible; the crate root if it is public.
    visible_in: ModulePath,
    /// Tokens without test code and without those of nested modules.
    body: Vec<Token>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: String,
    to: String,
    line: usize,
    path: String,
}

struct Crate<'a> {
    sources: &'a Sources,
    modules: BTreeMap<ModulePath, Module>,
    /// Exported macros, which are named from the crate root, with the files that define them.
    macros: BTreeMap<String, String>,
}

impl<'a> Crate<'a> {
    fn read(sources: &'a Sources, root: &str) -> Self {
        let mut read = Self { sources, modules: BTreeMap::new(), macros: BTreeMap::new() };
        read.add_file(Vec::new(), root, Vec::new());
        read
    }

    fn add_file(&mut self, path: ModulePath, file: &str, visible_in: ModulePath) {
        let all = tokens(&self.sources[file]);
        for (index, _) in all.iter().enumerate().filter(|(_, token)| token.is("macro_export")) {
            let rules = all[index..].iter().position(|token| token.is("macro_rules"));
            if let Some(name) = rules.and_then(|rules| all.get(index + rules + 2)) {
                self.macros.insert(name.text.clone(), file.into());
            }
        }
        let folder = match file.strip_suffix("mod.rs") {
            Some(folder) => folder.to_owned(),
            None if path.is_empty() => String::new(),
            None => format!("{}/", file.trim_end_matches(".rs")),
        };
        self.add_module(path, file, visible_in, &folder, &without_tests(&all));
    }

    fn add_module(&mut self, path: ModulePath, file: &str, visible_in: ModulePath, folder: &str, all: &[Token]) {
        let mut body: Vec<Token> = Vec::new();
        let mut index = 0;
        while index < all.len() {
            if all[index].is("pub") && all.get(index + 2).is_some_and(|token| token.is("in")) {
                index = after_bracket(all, index + 1);
                continue;
            }
            let Some(name) = module_name(all, index) else {
                body.push(all[index].clone());
                index += 1;
                continue;
            };
            let child = [path.clone(), vec![name.to_owned()]].concat();
            let child_visible_in = remove_visibility(&mut body, &path);
            if all[index + 2].is(";") {
                let places = [format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs")];
                if let Some(file) = places.iter().find(|place| self.sources.contains_key(*place)) {
                    self.add_file(child, file, child_visible_in);
                }
                index += 3;
            } else {
                let end = after_bracket(all, index + 2);
                let inner = &all[index + 3..end - 1];
                self.add_module(child, file, child_visible_in, &format!("{folder}{name}/"), inner);
                index = end;
            }
        }
        self.modules.insert(path, Module { file: file.into(), visible_in, body });
    }

    fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (here, module) in &self.modules {
            for (path, line, is_macro) in paths(&module.body) {
                let Some(to) = self.target(here, &path, is_macro) else { continue };
                if to != module.file {
                    arrows.insert(Arrow { from: module.file.clone(), to, line, path: path.join("::") });
                }
            }
        }
        arrows
    }

    /// Returns the file to which a path leads that is written in the module `here`; `None` if it leaves the crate.
    fn target(&self, here: &[String], path: &[String], is_macro: bool) -> Option<String> {
        let mut at = here.to_vec();
        let mut rest = path;
        if rest.first()? == "crate" {
            at.clear();
            rest = &rest[1..];
            if let Some(file) =
                rest.first().and_then(|name| self.macros.get(name)).filter(|_| is_macro || rest.len() == 1)
            {
                return Some(file.clone());
            }
        } else if rest[0] == "self" || rest[0] == "super" {
            while rest.first().is_some_and(|name| name == "self" || name == "super") {
                if rest[0] == "super" {
                    at.pop()?;
                }
                rest = &rest[1..];
            }
        } else if !self.modules.contains_key(&[here, &rest[..1]].concat()) {
            return None;
        }
        while let Some(name) = rest.first() {
            at.push(name.clone());
            if !self.modules.get(&at).is_some_and(|module| here.starts_with(&module.visible_in)) {
                at.pop();
                break;
            }
            rest = &rest[1..];
        }
        self.modules.get(&at).map(|module| module.file.clone())
    }
}

/// Returns the name of the module that is declared at `index`.
fn module_name(all: &[Token], index: usize) -> Option<&str> {
    let opens = all.get(index + 2).is_some_and(|token| token.is(";") || token.is("{"));
    let is_first = index == 0 || ["}", ";", "{", "pub", ")"].contains(&all[index - 1].text.as_str());
    (all[index].is("mod") && opens && is_first).then(|| all[index + 1].text.as_str())
}

/// Removes a trailing `pub`, `pub(crate)` or `pub(super)` from `body` and returns the module in which it makes visible.
fn remove_visibility(body: &mut Vec<Token>, path: &[String]) -> ModulePath {
    let Some(last) = body.last() else { return path.to_vec() };
    if last.is("pub") {
        body.pop();
        return Vec::new();
    }
    if !last.is(")") {
        return path.to_vec();
    }
    let reach = body[body.len() - 2].text.clone();
    body.truncate(body.len() - 4);
    match reach.as_str() {
        "crate" => Vec::new(),
        "super" => path[..path.len().saturating_sub(1)].to_vec(),
        _ => path.to_vec(),
    }
}

/// Returns every path that code names, with its line and whether it calls a macro.
fn paths(body: &[Token]) -> Vec<(Vec<String>, usize, bool)> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < body.len() {
        if body[index].is("use") && body.get(index + 1).is_some_and(|token| !token.is("<")) {
            read_use_tree(body, index + 1, &[], &mut found);
            index = after_semicolon(body, index);
            continue;
        }
        let is_head = index == 0 || !["::", "."].contains(&body[index - 1].text.as_str());
        let mut path = Vec::new();
        let mut end = index;
        if is_head && body[index].is_name() {
            path.push(body[index].text.clone());
            end += 1;
            while end + 1 < body.len() && body[end].is("::") && body[end + 1].is_name() {
                path.push(body[end + 1].text.clone());
                end += 2;
            }
        }
        if path.len() > 1 {
            found.push((path, body[index].line, body.get(end).is_some_and(|token| token.is("!"))));
        }
        index = end.max(index + 1);
    }
    found
}

/// Collects the paths of the use tree at `start` and returns the index after it.
fn read_use_tree(
    body: &[Token],
    start: usize,
    prefix: &[String],
    found: &mut Vec<(Vec<String>, usize, bool)>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut index = start;
    while index < body.len() {
        match body[index].text.as_str() {
            "{" => {
                index += 1;
                while index < body.len() && !body[index].is("}") {
                    index = read_use_tree(body, index, &path, found);
                    index += usize::from(body.get(index).is_some_and(|token| token.is(",")));
                }
                return index + 1;
            }
            "," | "}" | ";" => break,
            "as" => index += 2,
            "::" | "*" => index += 1,
            "self" if !path.is_empty() => index += 1,
            name => {
                path.push(name.into());
                index += 1;
            }
        }
    }
    found.push((path, body[start.min(body.len() - 1)].line, false));
    index
}

/// Returns the strongly connected components of more than one file.
fn circles(arrows: &BTreeSet<Arrow>) -> Vec<BTreeSet<&str>> {
    let files: BTreeSet<&str> = arrows.iter().flat_map(|arrow| [arrow.from.as_str(), arrow.to.as_str()]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = files.iter().map(|file| (*file, reachable(arrows, file))).collect();
    let mut circles = BTreeSet::new();
    for file in &files {
        let circle: BTreeSet<&str> =
            reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Returns the files to which arrows lead from `start`.
fn reachable<'a>(arrows: &'a BTreeSet<Arrow>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for arrow in arrows.iter().filter(|arrow| arrow.from == file) {
            if reached.insert(arrow.to.as_str()) {
                open.push(&arrow.to);
            }
        }
    }
    reached
}

/// Describes each circle: its files, and the paths by which one file of it names another.
fn describe(circles: &[BTreeSet<&str>], arrows: &BTreeSet<Arrow>) -> String {
    let mut text = String::new();
    for circle in circles {
        let files: Vec<&str> = circle.iter().copied().collect();
        let _ = writeln!(text, "circle: {}", files.join(", "));
        let within = |arrow: &&Arrow| circle.contains(arrow.from.as_str()) && circle.contains(arrow.to.as_str());
        for arrow in arrows.iter().filter(within) {
            let _ = writeln!(text, "  {}:{}: {} (in {})", arrow.from, arrow.line, arrow.path, arrow.to);
        }
    }
    text
}

fn crate_arrows(sources: &Sources) -> BTreeSet<Arrow> {
    let roots = ["lib.rs", "main.rs"].into_iter().filter(|root| sources.contains_key(*root));
    roots.flat_map(|root| Crate::read(sources, root).arrows()).collect()
}

fn read_sources(folder: &Path, prefix: &str, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read_sources(&path, &format!("{name}/"), sources);
        } else if name.ends_with(".rs") {
            sources.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn modules_have_no_import_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut failures = String::new();
    let mut checked = 0;
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut sources = Sources::new();
        read_sources(&folder.join("src"), "", &mut sources);
        let arrows = crate_arrows(&sources);
        let circles = circles(&arrows);
        let files: usize = circles.iter().map(BTreeSet::len).sum();
        if files > 0 {
            let _ = writeln!(failures, "\n{name}: {files} files in circles");
            failures.push_str(&describe(&circles, &arrows));
        }
        checked += 1;
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(checked > 20, "only {checked} crates were read: is this the right folder?");
}

fn sources(files: &[(&str, &str)]) -> Sources {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn circle_is_reported_with_its_imports() {
    let sources = sources(&[
        ("lib.rs", "mod a; mod b; mod apart; pub use a::A;"),
        ("a.rs", "use std::{fmt, collections::{self, BTreeMap}};\nuse crate::b::{c::{C, D as E}, B};"),
        ("b.rs", "pub(crate) mod c; pub struct B;"),
        ("b/c.rs", "fn f() -> u8 {\n    crate::A::new()\n}"),
        ("apart.rs", "use crate::b::B;"),
    ]);
    let arrows = crate_arrows(&sources);
    let circles = circles(&arrows);
    assert_eq!(circles, [BTreeSet::from(["a.rs", "b/c.rs", "lib.rs"])]);
    let expected = "circle: a.rs, b/c.rs, lib.rs
  a.rs:2: crate::b::c::C (in b/c.rs)
  a.rs:2: crate::b::c::D (in b/c.rs)
  b/c.rs:2: crate::A::new (in lib.rs)
  lib.rs:1: a::A (in a.rs)
";
    assert_eq!(describe(&circles, &arrows), expected);
}

#[test]
fn parent_and_child_can_form_a_circle() {
    let parent = ("lib.rs", "mod shop;");
    let child = ("shop/till.rs", "use super::Shop;");
    let calls = sources(&[parent, ("shop.rs", "mod till; fn open() { till::open() } pub struct Shop;"), child]);
    assert_eq!(circles(&crate_arrows(&calls)).len(), 1);
    let declares = sources(&[parent, ("shop.rs", "mod till; pub struct Shop;"), child]);
    assert!(circles(&crate_arrows(&declares)).is_empty());
}

#[test]
fn tree_has_no_circle() {
    let sources = sources(&[
        ("lib.rs", "#![doc = \"a\"] mod a; mod b; pub use a::A; pub use b::B; #[cfg(test)] mod tests;"),
        ("a.rs", "use super::b::B; pub struct A; #[cfg(test)] mod tests { use super::*; use crate::A; }"),
        (
            "b.rs",
            "// use crate::A;\npub(in crate::a) struct B; const TEXT: &str = \"crate::A\"; mod inner { use super::B; }",
        ),
        ("tests.rs", "use crate::A;"),
    ]);
    let arrows = crate_arrows(&sources);
    assert_eq!(arrows.len(), 3, "{arrows:?}");
    assert!(circles(&arrows).is_empty());
}

#[test]
fn private_module_does_not_hide_reexport() {
    let sources = sources(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod walk; pub use walk::walk;"),
        ("a/walk.rs", "pub fn walk() {}"),
        ("b.rs", "use crate::a::walk;"),
    ]);
    let arrows: Vec<_> = crate_arrows(&sources).into_iter().map(|arrow| (arrow.from, arrow.to)).collect();
    assert_eq!(arrows, [("a.rs".to_owned(), "a/walk.rs".to_owned()), ("b.rs".to_owned(), "a.rs".to_owned())]);
}
