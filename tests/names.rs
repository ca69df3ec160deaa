//! Two public types of the facade never have one name, so that any of its modules can be imported next to any other.
//!
//! The names are read from the `pub use` lists of the facade and of the crates that it re-exports.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A public name and the crate that defines it.
type Names = BTreeMap<String, String>;

const FACADE: &str = "memory_engine";
/// Crates that the facade re-exports whole, under a name of their own.
const WHOLE: [&str; 5] = ["llm", "scene", "http_models", "sqlite", "postgres"];
/// The functions of both adapters and of `admin`, which do the same for one backend and for any.
const SAME_ON_PURPOSE: [&str; 5] = ["checkup", "migrate_down", "migrate_up", "namespaces", "SCHEMA"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Returns the folder of each crate, by the name that code uses.
fn folders() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path());
    let name = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let line = manifest.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap();
        line.trim_end_matches('"').replace('-', "_")
    };
    entries.map(|folder| (name(&folder), folder)).collect()
}

/// Returns the paths of a `use` tree: `a::{b, c::d}` has `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let Some((prefix, list)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let list = list.trim_end().strip_suffix('}').unwrap();
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| paths(&format!("{}{part}", prefix.trim()))).collect()
}

/// Returns what a file exports and defines, without its comments and private parts.
fn exports(file: &Path) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap()).collect();
    let code = code.join("\n");
    let mut used = Vec::new();
    for part in code.split("\npub use ").skip(1) {
        used.extend(paths(part.split(';').next().unwrap()));
    }
    let mut defined = Vec::new();
    for line in code.lines().filter_map(|line| line.strip_prefix("pub ")) {
        let mut words = line.trim_start_matches("async ").split(|c: char| !c.is_alphanumeric() && c != '_');
        let kind = words.next().unwrap();
        if matches!(kind, "struct" | "enum" | "trait" | "type" | "const" | "static" | "fn") {
            defined.push(words.next().unwrap().to_owned());
        }
    }
    (used, defined)
}

/// Returns the crate that defines the item of a path such as `memory_engine_sql::options::Mismatch`.
fn origin(path: &str, folders: &BTreeMap<String, PathBuf>) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    let (name, item) = (parts[0], parts[parts.len() - 1]);
    let file = match parts.len() {
        2 => "src/lib.rs".to_owned(),
        _ => format!("src/{}.rs", parts[1]),
    };
    let (used, _) = exports(&folders[name].join(file));
    let of_other = |path: &&String| {
        let of = path.split("::").next().unwrap();
        of != name && folders.contains_key(of) && path.rsplit("::").next() == Some(item)
    };
    used.iter().find(of_other).map_or_else(|| name.to_owned(), |path| origin(path, folders))
}

/// Returns the names of one file of a crate, with globs of other crates expanded.
fn names_in(name: &str, file: &Path, folders: &BTreeMap<String, PathBuf>) -> Names {
    let (used, defined) = exports(file);
    let mut names: Names = defined.into_iter().map(|item| (item, name.to_owned())).collect();
    for path in used.iter().filter(|path| !path.contains(" as ")) {
        let (of, item) = (path.split("::").next().unwrap(), path.rsplit("::").next().unwrap());
        match (folders.contains_key(of), item) {
            (true, "*") => names.extend(names_of(of, folders)),
            (true, _) => _ = names.insert(item.to_owned(), origin(path, folders)),
            (false, _) => _ = names.insert(item.to_owned(), name.to_owned()),
        }
    }
    names
}

/// Returns the names of a crate's root, each with the crate that defines it.
fn names_of(name: &str, folders: &BTreeMap<String, PathBuf>) -> Names {
    names_in(name, &folders[name].join("src/lib.rs"), folders)
}

fn modules() -> BTreeMap<String, Names> {
    let folders = folders();
    let source = folders[FACADE].join("src");
    let root = fs::read_to_string(source.join("lib.rs")).unwrap();
    let files = root.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut modules: BTreeMap<String, Names> =
        files.map(|name| (name.to_owned(), names_in(FACADE, &source.join(format!("{name}.rs")), &folders))).collect();
    modules.insert("the root".to_owned(), names_of(FACADE, &folders));
    for name in WHOLE {
        modules.insert(name.to_owned(), names_of(&format!("{FACADE}_{name}"), &folders));
    }
    modules
}

#[test]
fn a_name_means_one_thing_in_every_module_of_the_facade() {
    let mut places: BTreeMap<&String, BTreeMap<&String, BTreeSet<&String>>> = BTreeMap::new();
    let modules = modules();
    // `blocking::MemoryEngine` is the engine itself, for programs without a runtime.
    for (module, names) in modules.iter().filter(|(module, _)| *module != "blocking") {
        for (name, origin) in names.iter().filter(|(name, _)| !SAME_ON_PURPOSE.contains(&name.as_str())) {
            places.entry(name).or_default().entry(origin).or_default().insert(module);
        }
    }
    let clashes: Vec<_> = places.iter().filter(|(_, origins)| origins.len() > 1).collect();
    assert!(clashes.is_empty(), "names with two meanings: {clashes:#?}");
}

#[test]
fn the_root_is_small_and_the_prelude_is_a_part_of_it() {
    let modules = modules();
    let (root, prelude) = (&modules["the root"], &modules["prelude"]);
    assert!(root.len() <= 45, "{} names at the root: {:?}", root.len(), root.keys());
    let missing: Vec<_> = prelude.keys().filter(|name| !root.contains_key(*name)).collect();
    assert!(missing.is_empty(), "names of the prelude that the root lacks: {missing:?}");
}

#[test]
fn every_type_of_a_store_contract_is_in_the_module_store() {
    let folders = folders();
    let modules = modules();
    let reachable = |name: &str| modules["store"].contains_key(name) || modules["the root"].contains_key(name);
    let contracts = [
        ("memory_engine_core", "src/store.rs"),
        ("memory_engine_core", "src/store/queue.rs"),
        ("memory_engine_vector_store", "src/store.rs"),
        ("memory_engine_keyword_store", "src/store.rs"),
        ("memory_engine_graph", "src/store.rs"),
        ("memory_engine_synonyms", "src/store.rs"),
    ];
    let mut missing = BTreeSet::new();
    for (name, file) in contracts {
        let text = fs::read_to_string(folders[name].join(file)).unwrap();
        // The signatures of the trait's methods: from `async fn` or `fn` to the end of the line.
        let signatures = text.lines().map(str::trim).filter(|line| line.contains("fn ") && line.contains("&self"));
        for word in signatures.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())) {
            let is_type = word.starts_with(char::is_uppercase) && word.len() > 1;
            let is_std = matches!(word, "Arc" | "Duration" | "Formatter" | "Option" | "Result" | "Self" | "String" | "Vec");
            if is_type && !is_std && !reachable(word) {
                missing.insert((name, word.to_owned()));
            }
        }
    }
    assert!(missing.is_empty(), "types in signatures of stores that the facade does not export: {missing:?}");
}
