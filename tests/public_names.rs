//! No two public types of one name are in reach of one import of the facade.
//!
//! A program writes `use memory_engine::prelude::*;`, names of the root, and the names of one module. Within these, a name has
//! one meaning. Types of two modules may share a name only if the table below says so.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "arrows/tokens.rs"]
mod tokens;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    slice,
};

use tokens::{Token, after_bracket, after_semicolon, tokens, without_tests};

/// Names that stand for different types in two modules or more. The module is part of how they are read: `llm::Message` is
/// a message of a chat, `context::Message` one that may get memories injected.
const SHARED_BY_MODULES: &[&str] = &[];

/// A type by the path of its definition, from its crate.
type Definition = String;
/// The definitions behind each public name of a module. More than one is a clash.
type Names = BTreeMap<String, BTreeSet<Definition>>;
/// A module: its crate and the path from there.
type Module = (String, Vec<String>);

/// The public items of a module as its file has them.
#[derive(Default)]
struct Items {
    types: BTreeSet<String>,
    children: Vec<String>,
    /// `pub use`: the module, the name there, and the name here; `*` for all.
    uses: Vec<(Module, String, String)>,
    /// Crates under a name of one's own: `pub use memory_engine_llm as llm;`.
    crates: Vec<(String, String)>,
}

struct Repository {
    /// The folder of each crate, by its name in paths: `memory_engine_core`.
    folders: BTreeMap<String, PathBuf>,
    items: RefCell<BTreeMap<Module, Rc<Items>>>,
}

impl Repository {
    fn read() -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let folders = fs::read_dir(crates).unwrap().filter_map(|entry| {
            let folder = entry.unwrap().path();
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            let package = manifest.lines().find_map(|line| line.strip_prefix("name = \""))?;
            Some((package.trim_end_matches('"').replace('-', "_"), folder))
        });
        Self { folders: folders.collect(), items: RefCell::default() }
    }

    fn items(&self, module: &Module) -> Rc<Items> {
        if let Some(items) = self.items.borrow().get(module) {
            return Rc::clone(items);
        }
        let items = Rc::new(self.read_items(module));
        self.items.borrow_mut().insert(module.clone(), Rc::clone(&items));
        items
    }

    fn read_items(&self, module: &Module) -> Items {
        let mut items = Items::default();
        let (krate, path) = module;
        let file = if path.is_empty() { "lib.rs".into() } else { format!("{}.rs", path.join("/")) };
        let text = fs::read_to_string(self.folders[krate].join("src").join(file)).unwrap_or_default();
        let body = without_tests(&tokens(&text));
        let mut index = 0;
        while index < body.len() {
            let next = body.get(index + 1).map(|token| token.text.as_str());
            match next.filter(|_| body[index].is("pub")) {
                Some("use") => {
                    for (path, name) in use_tree(&body, &mut (index + 2), &[]) {
                        self.add_use(module, &path, name, &mut items);
                    }
                    index = after_semicolon(&body, index);
                }
                Some("struct" | "enum" | "trait" | "type" | "union") => {
                    items.types.insert(body[index + 2].text.clone());
                    index += 3;
                }
                Some("mod") => {
                    items.children.push(body[index + 2].text.clone());
                    index += 3;
                }
                _ if ["{", "(", "["].iter().any(|bracket| body[index].is(bracket)) => {
                    index = after_bracket(&body, index);
                }
                _ => index += 1,
            }
        }
        items
    }

    fn add_use(&self, here: &Module, path: &[String], name: String, items: &mut Items) {
        let (krate, mut path) = match path[0].as_str() {
            "crate" => (here.0.clone(), path[1..].to_vec()),
            "self" => (here.0.clone(), [&here.1, &path[1..]].concat()),
            first if self.folders.contains_key(first) => (first.to_owned(), path[1..].to_vec()),
            // A child module, or a crate that is not of this repository.
            _ => (here.0.clone(), [&here.1, path].concat()),
        };
        if name == "*" {
            items.uses.push(((krate, path), name.clone(), name));
        } else if is_type(&name) {
            let there = path.pop().unwrap();
            items.uses.push(((krate, path), there, name));
        } else if path.is_empty() {
            items.crates.push((krate, name));
        }
    }

    /// Returns the types that a module exports, by their names.
    fn types(&self, module: &Module) -> Names {
        let mut names = Names::new();
        let items = self.items(module);
        for name in &items.types {
            names.entry(name.clone()).or_default().insert(definition(module, name));
        }
        for (from, there, name) in &items.uses {
            if name == "*" {
                for (name, definitions) in self.types(from) {
                    names.entry(name).or_default().extend(definitions);
                }
            } else {
                let defined = self.definition(from, there).unwrap_or_else(|| definition(from, there));
                names.entry(name.clone()).or_default().insert(defined);
            }
        }
        names
    }

    /// Follows a name to where the type is defined; `None` if the module does not export it by name.
    fn definition(&self, module: &Module, name: &str) -> Option<Definition> {
        let items = self.items(module);
        if items.types.contains(name) {
            return Some(definition(module, name));
        }
        if let Some((from, there, _)) = items.uses.iter().find(|(_, _, here)| here == name) {
            return Some(self.definition(from, there).unwrap_or_else(|| definition(from, there)));
        }
        let mut globs = items.uses.iter().filter(|(_, _, here)| here == "*");
        globs.find_map(|(from, _, _)| self.definition(from, name))
    }

    /// Returns the types of each public module of the facade, by its path from the root, which is `""`.
    fn facade(&self) -> BTreeMap<String, Names> {
        let root = ("memory_engine".to_owned(), Vec::new());
        let mut modules = BTreeMap::new();
        self.add_modules("", &root, &mut modules);
        for (krate, name) in &self.items(&root).crates {
            self.add_modules(name, &(krate.clone(), Vec::new()), &mut modules);
        }
        modules
    }

    fn add_modules(&self, name: &str, module: &Module, modules: &mut BTreeMap<String, Names>) {
        modules.insert(name.to_owned(), self.types(module));
        for child in &self.items(module).children {
            let child_name = if name.is_empty() { child.clone() } else { format!("{name}::{child}") };
            let path = [&module.1, slice::from_ref(child)].concat();
            self.add_modules(&child_name, &(module.0.clone(), path), modules);
        }
    }
}

fn definition((krate, path): &Module, name: &str) -> Definition {
    let from_crate = [path.as_slice(), &[name.to_owned()]].concat();
    format!("{krate}::{}", from_crate.join("::"))
}

/// Types, traits and variants begin with a capital letter; a constant has nothing else.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.len() == 1 || name.contains(char::is_lowercase))
}

/// Returns the paths of the use tree at `index` and the names under which they are imported, and moves behind the tree.
fn use_tree(body: &[Token], index: &mut usize, prefix: &[String]) -> Vec<(Vec<String>, String)> {
    let mut path = prefix.to_vec();
    loop {
        let token = &body[*index];
        *index += 1;
        if token.is("{") {
            let mut found = Vec::new();
            while !body[*index].is("}") {
                if body[*index].is(",") {
                    *index += 1;
                } else {
                    found.extend(use_tree(body, index, &path));
                }
            }
            *index += 1;
            return found;
        }
        if token.is("*") {
            return vec![(path, "*".into())];
        }
        path.push(token.text.clone());
        if body[*index].is("::") {
            *index += 1;
            continue;
        }
        let mut name = token.text.clone();
        if body[*index].is("as") {
            name.clone_from(&body[*index + 1].text);
            *index += 2;
        }
        return vec![(path, name)];
    }
}

#[test]
fn root_prelude_and_one_module_have_one_meaning_for_each_name() {
    let modules = Repository::read().facade();
    assert!(
        modules[""].contains_key("MemoryEngine") && modules["llm"].contains_key("ChatModel"),
        "{:?}",
        modules.keys()
    );
    let mut clashes = Vec::new();
    for (module, names) in &modules {
        for (name, definitions) in names {
            let mut all = definitions.clone();
            for always in ["", "prelude"] {
                all.extend(modules[always].get(name).into_iter().flatten().cloned());
            }
            if all.len() > 1 {
                clashes.push(format!("{module}::{name}: {all:?}"));
            }
        }
    }
    assert!(clashes.is_empty(), "one name for different types:\n{}", clashes.join("\n"));
}

#[test]
fn modules_share_names_only_as_listed() {
    let modules = Repository::read().facade();
    let mut by_name: BTreeMap<&String, (BTreeSet<&String>, BTreeSet<&Definition>)> = BTreeMap::new();
    for (module, names) in &modules {
        for (name, definitions) in names {
            let (named_in, defined) = by_name.entry(name).or_default();
            named_in.insert(module);
            defined.extend(definitions);
        }
    }
    by_name.retain(|_, (_, defined)| defined.len() > 1);
    let shared: BTreeSet<&str> = by_name.keys().map(|name| name.as_str()).collect();
    let listed: BTreeSet<&str> = SHARED_BY_MODULES.iter().copied().collect();
    let described: Vec<String> =
        by_name.iter().map(|(name, (at, what))| format!("{name} in {at:?}: {what:?}")).collect();
    assert_eq!(shared, listed, "types that share a name:\n{}", described.join("\n"));
}
