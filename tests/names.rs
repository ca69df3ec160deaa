//! Two public items of the facade never have one name, so that any of its modules can be imported next to any other.
//!
//! The names are read from the sources of the facade and of the crates that it re-exports, and followed to their
//! definitions.

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

/// Names with several meanings on purpose: the functions of both adapters, of `admin` and of `transfer`, which do the
/// same for one backend and for any; and `blocking::MemoryEngine`, which is the engine for programs without a runtime.
const SAME_ON_PURPOSE: [&str; 15] = [
    "check_backup",
    "check_health",
    "check_health_with_progress",
    "find_residue",
    "fingerprint",
    "install_views",
    "migrate_down",
    "migrate_up",
    "namespaces",
    "rekey",
    "remove_views",
    "repair",
    "restore_backup",
    "SCHEMA",
    "MemoryEngine",
];
/// Files with the contracts of stores.
const CONTRACTS: [(&str, &str); 6] = [
    ("memory_engine_core", "store.rs"),
    ("memory_engine_core", "store/queue.rs"),
    ("memory_engine_vector_store", "store.rs"),
    ("memory_engine_keyword_store", "store.rs"),
    ("memory_engine_graph", "store.rs"),
    ("memory_engine_synonyms", "store.rs"),
];

/// An item by the path of its definition, from its crate.
type Definition = String;
/// The definitions behind each public name of a module. More than one is a clash.
type Names = BTreeMap<String, BTreeSet<Definition>>;
/// A module: its crate and the path from there.
type Module = (String, Vec<String>);

/// The public items of a module as its file has them.
#[derive(Default)]
struct Items {
    defined: BTreeSet<String>,
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
                Some("struct" | "enum" | "trait" | "type" | "union" | "const" | "static" | "fn") => {
                    items.defined.insert(body[index + 2].text.clone());
                    index += 3;
                }
                // `pub async fn`
                Some("async") => {
                    items.defined.insert(body[index + 3].text.clone());
                    index += 4;
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
            // A crate that is not of this repository.
            _ if path.len() == 1 => return,
            // A child module, or again another crate.
            _ => (here.0.clone(), [&here.1, path].concat()),
        };
        if name == "*" {
            items.uses.push(((krate, path), name.clone(), name));
        } else if let Some(name_there) = path.pop() {
            items.uses.push(((krate, path), name_there, name));
        } else {
            items.crates.push((krate, name));
        }
    }

    /// Returns the definitions that a module exports, by their names.
    fn names(&self, module: &Module) -> Names {
        let mut names = Names::new();
        let items = self.items(module);
        for name in &items.defined {
            names.entry(name.clone()).or_default().insert(definition(module, name));
        }
        for (from, name_there, name) in &items.uses {
            if name == "*" {
                for (name, definitions) in self.names(from) {
                    names.entry(name).or_default().extend(definitions);
                }
            } else if self.module(from, name_there).is_none() {
                let defined = self.definition(from, name_there).unwrap_or_else(|| definition(from, name_there));
                names.entry(name.clone()).or_default().insert(defined);
            }
        }
        names
    }

    /// Follows a name to where the item is defined; `None` if the module does not export it by name.
    fn definition(&self, module: &Module, name: &str) -> Option<Definition> {
        let items = self.items(module);
        if items.defined.contains(name) {
            return Some(definition(module, name));
        }
        if let Some((from, name_there, _)) = items.uses.iter().find(|(_, _, here)| here == name) {
            return Some(self.definition(from, name_there).unwrap_or_else(|| definition(from, name_there)));
        }
        let mut globs = items.uses.iter().filter(|(_, _, here)| here == "*");
        globs.find_map(|(from, _, _)| self.definition(from, name))
    }

    /// Returns the module of this name in another one; `None` if the name is that of an item.
    fn module(&self, (krate, path): &Module, name: &str) -> Option<Module> {
        let path = [path.as_slice(), &[name.to_owned()]].concat();
        let file = self.folders.get(krate)?.join("src").join(format!("{}.rs", path.join("/")));
        file.is_file().then(|| (krate.clone(), path))
    }

    /// Returns the names of each public module of the facade, by its path from the root, which is `""`.
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
        modules.insert(name.to_owned(), self.names(module));
        let items = self.items(module);
        let children = items
            .children
            .iter()
            .map(|child| (child, (module.0.clone(), [&module.1, slice::from_ref(child)].concat())));
        let exported = items.uses.iter().filter_map(|(from, there, here)| Some((here, self.module(from, there)?)));
        for (child, module) in children.chain(exported) {
            let child_name = if name.is_empty() { child.clone() } else { format!("{name}::{child}") };
            self.add_modules(&child_name, &module, modules);
        }
    }
}

fn definition((krate, path): &Module, name: &str) -> Definition {
    let from_crate = [path.as_slice(), &[name.to_owned()]].concat();
    format!("{krate}::{}", from_crate.join("::"))
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
fn names_are_unique_across_facade_modules() {
    let modules = Repository::read().facade();
    // The reader of sources has seen a definition, a re-export, a glob and a crate as a module.
    for (module, name, defined) in [
        ("facts", "Fact", "memory_engine::verbs::facts::Fact"),
        ("", "Scope", "memory_engine_core::scope::Scope"),
        ("context", "ContextPlan", "memory_engine_context::plan::ContextPlan"),
        ("llm", "Message", "memory_engine_llm::request::Message"),
    ] {
        assert_eq!(modules[module].get(name), Some(&BTreeSet::from([defined.to_owned()])), "{module}::{name}");
    }
    let mut meanings: BTreeMap<&String, BTreeMap<&Definition, BTreeSet<&String>>> = BTreeMap::new();
    for (module, names) in &modules {
        for (name, definitions) in names {
            for definition in definitions {
                meanings.entry(name).or_default().entry(definition).or_default().insert(module);
            }
        }
    }
    meanings.retain(|name, definitions| definitions.len() > 1 && !SAME_ON_PURPOSE.contains(&name.as_str()));
    assert!(meanings.is_empty(), "names with two meanings, their definitions and modules: {meanings:#?}");
}

#[test]
fn root_is_small_and_contains_prelude() {
    let modules = Repository::read().facade();
    let (root, prelude) = (&modules[""], &modules["prelude"]);
    assert!(root.len() <= 45, "{} names at the root: {:?}", root.len(), root.keys());
    let missing: Vec<_> = prelude.iter().filter(|(name, definitions)| root.get(*name) != Some(definitions)).collect();
    assert!(missing.is_empty(), "names of the prelude that the root lacks: {missing:?}");
}

#[test]
fn store_module_has_all_contract_types() {
    let repository = Repository::read();
    let modules = repository.facade();
    let reachable = |name: &str| modules["store"].contains_key(name) || modules[""].contains_key(name);
    let mut missing = BTreeSet::new();
    for (krate, file) in CONTRACTS {
        let text = fs::read_to_string(repository.folders[krate].join("src").join(file)).unwrap();
        // The signatures of the trait's methods: from `async fn` or `fn` to the end of the line.
        let signatures = text.lines().map(str::trim).filter(|line| line.contains("fn ") && line.contains("&self"));
        for word in signatures.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())) {
            let is_type = word.starts_with(char::is_uppercase) && word.len() > 1;
            // `Value` is the JSON value of serde_json, as in the metadata of a record.
            let is_foreign = matches!(
                word,
                "Arc" | "Duration" | "Formatter" | "Option" | "Result" | "Self" | "String" | "Value" | "Vec"
            );
            if is_type && !is_foreign && !reachable(word) {
                missing.insert((krate, word.to_owned()));
            }
        }
    }
    assert!(missing.is_empty(), "types in signatures of stores that the facade does not export: {missing:?}");
}
