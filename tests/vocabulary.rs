//! Names that must not come back, and type names that two library crates define for different things.
//!
//! The list is short on purpose: taste cannot be tested.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Types named by a participle, a question word or a pronoun, and embedding versions by their former name.
const FORBIDDEN_TYPES: [&str; 27] = [
    "Asked",
    "Found",
    "Generation",
    "GenerationStore",
    "Generations",
    "Heard",
    "Kept",
    "Keeper",
    "Known",
    "Lanes",
    "Met",
    "Next",
    "Reach",
    "Said",
    "Seen",
    "Shelf",
    "Stored",
    "Sums",
    "Taken",
    "Told",
    "Wanted",
    "Way",
    "What",
    "When",
    "Which",
    "Whose",
    "Written",
];
/// Former names of public functions and fields: of dead letters, queued jobs and the health check.
const FORBIDDEN_MEMBERS: [&str; 3] = ["given_up", "backlog", "checkup"];
/// Constants without a noun or a unit.
const FORBIDDEN_CONSTANTS: [&str; 14] = [
    "AT_ONCE", "AWAY", "DOUBT", "FRESH", "LEFT", "LONGEST", "MANY", "MOST", "MUCH", "PATIENCE", "SHORT", "SPARE",
    "TOLD", "WHOLE",
];
/// Public type names of several library crates on purpose.
const ALLOWED_TWINS: [&str; 7] = [
    // The SQL adapters mirror each other.
    "SCHEMA",
    // The engine for programs without a runtime is a module of the facade.
    "MemoryEngine",
    // Messages and requests of the chat API and of a model.
    "ChatRequest",
    "Message",
    // The memory mode of the gateway's header and of a story.
    "MemoryMode",
    // The owner of memories in mem0's API: as the server reads it, and as the client sends it.
    "Mem0Owner",
    // A stage of a recall is private; a stage of a relationship is public.
    "Stage",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates")
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// A definition in a line of code: its keyword, its name, and true if it is public.
fn definition(line: &str) -> Option<(&str, &str, bool)> {
    let code = line.trim_start();
    let is_public = code.starts_with("pub ");
    let code = match code.strip_prefix("pub(") {
        Some(restricted) => restricted.split_once(") ")?.1,
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let (keyword, rest) = code.split_once(' ')?;
    if !["struct", "enum", "trait", "type", "const", "static"].contains(&keyword) {
        return None;
    }
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())?;
    Some((keyword, name, is_public))
}

/// The name of the public function or field that a line defines.
fn public_member(line: &str) -> Option<&str> {
    let code = line.trim_start().strip_prefix("pub ")?;
    let code = ["const ", "async "].iter().fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
    let code = code.strip_prefix("fn ").unwrap_or(code);
    code.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn is_forbidden(keyword: &str, name: &str) -> bool {
    match keyword {
        "const" | "static" => FORBIDDEN_CONSTANTS.contains(&name),
        _ => FORBIDDEN_TYPES.contains(&name),
    }
}

#[test]
fn forbidden_names_are_not_defined() {
    let mut files = Vec::new();
    rust_files(&crates(), &mut files);
    let mut forbidden = Vec::new();
    for file in &files {
        for (n, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
            if let Some(name) = public_member(line).filter(|name| FORBIDDEN_MEMBERS.contains(name)) {
                forbidden.push(format!("{}:{}: {name}", file.display(), n + 1));
            }
            if let Some((keyword, name, _)) = definition(line).filter(|(keyword, name, _)| is_forbidden(keyword, name))
            {
                forbidden.push(format!("{}:{}: {keyword} {name}", file.display(), n + 1));
            }
        }
    }
    assert!(files.len() > 500, "only {} files", files.len());
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
}

#[test]
fn public_types_of_two_library_crates_have_two_names() {
    let mut crates_by_type: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if name == "memory-cli" || name == "conformance" {
            continue; // a program and a test suite
        }
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            for line in fs::read_to_string(file).unwrap().lines() {
                // Indented definitions are associated types or inside of functions.
                let Some((keyword, type_name, true)) = definition(line).filter(|_| line.starts_with("pub ")) else {
                    continue;
                };
                if !["const", "static"].contains(&keyword) {
                    crates_by_type.entry(type_name.to_owned()).or_default().insert(name.clone());
                }
            }
        }
    }
    let twins: Vec<String> = crates_by_type
        .into_iter()
        .filter(|(name, crates)| crates.len() > 1 && !ALLOWED_TWINS.contains(&name.as_str()))
        .map(|(name, crates)| format!("{name}: {}", crates.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    assert!(twins.is_empty(), "{}", twins.join("\n"));
}

#[test]
fn definitions_are_recognised() {
    assert_eq!(definition("pub struct Said<'a> {"), Some(("struct", "Said", true)));
    assert_eq!(definition("    pub(crate) const MUCH: usize = 3;"), Some(("const", "MUCH", false)));
    assert_eq!(definition("let what = 3;"), None);
    assert_eq!(public_member("    pub async fn check_health(&self) {"), Some("check_health"));
    assert_eq!(public_member("    pub queued: u64,"), Some("queued"));
    assert_eq!(public_member("    queued: u64,"), None);
    assert!(is_forbidden("enum", "Which") && is_forbidden("static", "MANY") && !is_forbidden("struct", "Record"));
}
