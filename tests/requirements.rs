//! Lists the tests of each requirement in a generated table.
//!
//! The name of a test begins with the ids of its requirements: `k10_turns_get_topic_entities_and_emotion`. After a
//! change, `UPDATE_REQUIREMENTS=1 cargo nextest run -p memory-engine-tests --test requirements` regenerates the
//! table.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// The requirements of each use case: its letter, its name, and its requirements in the order of their numbers.
const USE_CASES: &[(&str, &str, &[&str])] = &[
    (
        "K",
        "a chat gateway with automatic memory",
        &[
            "scene detection by rules",
            "synonyms in the database, in both directions, refreshed at run time",
            "remote embeddings that never block a write and lose no record",
            "hybrid search over turns and summaries; limits and weights are configurable",
            "scene isolation in search; the policy is configurable",
            "reranking; without the reranker the order before it is kept",
            "one deadline for the whole retrieval",
            "automatic injection by rules",
            "injected text in a fixed format",
            "turns with topic, entities, emotion and round",
            "rolling summaries",
            "an OpenAI-compatible gateway",
            "MCP tools",
            "the Postgres schema as migrations, up and down; tables of the document after `memory migrate views document`",
            "import of existing conversations",
            "keys are never shown or logged",
            "acceptance tables 5.1 to 5.4, end to end; at most 3 s for retrieval and 50 MB for 10 000 turns",
            "synonym suggestions",
        ],
    ),
    (
        "R",
        "long-term memory of a branching story",
        &[
            "a memory service with two calls",
            "modes: off, vector and graph",
            "isolation by session and branch",
            "items, embeddings, entities, edges with evidence, as views for SQL after `memory migrate views story`",
            "sources: timeline, interventions, summaries",
            "chunks at sentences, deduplication by hash, ranking by similarity, recency and novelty",
            "injected sections within a token budget; each entry cites its messages",
            "graph mode, by a model or by rules; failed extractions degrade and are reported",
            "delete-last with undo",
            "forks with an inheritance policy",
            "confidence and revocation",
            "cost control: batches, a cache, a limit of chunks per message",
            "a deterministic hash embedder with the same vectors on every machine",
            "a debug API",
            "failures do not stop the story",
            "embedder, vector store and graph store are traits",
        ],
    ),
    (
        "E",
        "evidence for an analysis pipeline",
        &[
            "three slots in a fixed order, never merged",
            "inputs, defaults and environment",
            "never fails; an error or an invalid setting empties a slot and is reported",
            "backend modes",
            "at most five keywords",
            "SQL functions of `memory migrate views evidence`, called directly and through REST; both keep the event number",
            "log lines without secrets, and hit rates",
            "two layers; the web search opens if the evidence is missing or weak",
            "a separate threshold for aggregation",
        ],
    ),
    (
        "A",
        "a companion with affection and key moments",
        &[
            "all state is persisted, and in views for SQL after `memory migrate views companion`",
            "six layers within a hard token limit, counted by a real tokenizer",
            "six stages of affection; the context contains only the current one",
            "a profile, refreshed every 20 messages",
            "key moments kept verbatim",
            "the last 30 to 50 messages verbatim",
            "related history if the message refers to it",
            "the message flow as one call",
            "the key-moment trigger",
            "changes of affection are logged",
        ],
    ),
    (
        "M",
        "mem0-style memory for a chat front end",
        &[
            "isolation by user, agent and run",
            "memories are written when the chat is saved",
            "layered retrieval",
            "weak queries",
            "the format of the injected list",
            "silent degradation",
            "settings that can be changed at run time",
            "acceptance cases A, B and C",
            "a mem0-compatible server and client",
            "memory types; newer facts supersede older ones",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the requirement ids at the beginning of a test's name, such as `K1` and `K5` for `k1_k5_a_name`.
fn requirement_ids(test_name: &str) -> BTreeSet<String> {
    test_name.split('_').take_while(|part| is_requirement_id(part)).map(str::to_uppercase).collect()
}

fn is_requirement_id(part: &str) -> bool {
    let Some(digits) = part.strip_prefix(['k', 'r', 'e', 'a', 'm']) else { return false };
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the names of the functions in a source text, with true for those that have a test attribute.
fn function_names(source: &str) -> impl Iterator<Item = (&str, bool)> {
    source.match_indices("fn ").filter_map(|(start, keyword)| {
        let rest = &source[start + keyword.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let is_function = rest[end..].starts_with(['(', '<']);
        is_function.then(|| (&rest[..end], has_test_attribute(&source[..start])))
    })
}

/// Returns true if a test attribute stands between this point of a source text and the item before it.
fn has_test_attribute(before: &str) -> bool {
    let attributes = before.lines().rev().take_while(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with(['#', '/']) || line.ends_with("async") || line.starts_with("pub")
    });
    attributes.map(str::trim).any(|line| line == "#[test]" || line.starts_with("#[tokio::test"))
}

/// Returns the names that a source text mentions without defining or calling them. A test program without the usual
/// harness makes its tests from a list of such names.
fn listed_names(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().filter(|line| !line.contains("fn ") && !line.contains('"'));
    lines.flat_map(|line| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let tokens = line.split(move |c: char| !is_name(c)).filter(|token| !token.is_empty());
        tokens.filter(move |token| !line.contains(&format!("{token}(")))
    })
}

/// The tests of each requirement, as pairs of file and test name.
type TestsByRequirement = BTreeMap<String, BTreeSet<(String, String)>>;

/// Finds the tests of each requirement in the source files of the workspace.
fn find_tests() -> TestsByRequirement {
    let root = root();
    let mut folders: Vec<PathBuf> = ["crates", "tests", "examples"].map(|folder| root.join(folder)).into();
    let mut functions: Vec<(String, String, bool)> = Vec::new();
    let mut listed = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                let source = fs::read_to_string(&path).unwrap();
                listed.extend(listed_names(&source).map(str::to_owned));
                let named = function_names(&source).filter(|(name, _)| !requirement_ids(name).is_empty());
                functions.extend(named.map(|(name, has_attribute)| (file.clone(), name.to_owned(), has_attribute)));
            }
        }
    }
    let mut tests = TestsByRequirement::new();
    for (file, name, has_attribute) in functions {
        if has_attribute || listed.contains(&name) {
            for id in requirement_ids(&name) {
                tests.entry(id).or_default().insert((file.clone(), name.clone()));
            }
        }
    }
    tests
}

/// Renders the page with a table for each use case.
fn render_page(tests: &TestsByRequirement) -> String {
    let total: usize = USE_CASES.iter().map(|(_, _, requirements)| requirements.len()).sum();
    let mut untested = Vec::new();
    let mut tables = String::new();
    for (letter, use_case, requirements) in USE_CASES {
        let _ = write!(tables, "\n## {letter}: {use_case}\n\n| id | requirement | tests |\n|---|---|---|\n");
        for (number, requirement) in (1..).zip(*requirements) {
            let id = format!("{letter}{number}");
            let names: Vec<String> =
                tests.get(&id).into_iter().flatten().map(|(file, name)| format!("`{name}` ({file})")).collect();
            let cell = if names.is_empty() { "**missing**".to_owned() } else { names.join("<br>") };
            let _ = writeln!(tables, "| {id} | {requirement} | {cell} |");
            if names.is_empty() {
                untested.push(id);
            }
        }
    }
    let tested = total - untested.len();
    let untested = if untested.is_empty() { "none".to_owned() } else { untested.join(", ") };
    format!(
        "# Requirements and their tests\n\nThe requirements of five use cases, and the tests of each requirement. The \
         name of a test begins with the ids\nof its requirements. Generated by `tests/requirements.rs`; do not edit.\n\n\
         {tested} of {total} requirements have a test. Without a test: {untested}.\n{tables}"
    )
}

#[test]
fn requirements_page_is_up_to_date() {
    let path = root().join("tests/REQUIREMENTS.md");
    let expected = render_page(&find_tests());
    if std::env::var_os("UPDATE_REQUIREMENTS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let new_line = expected.lines().find(|line| !stored.lines().any(|stored_line| stored_line == *line));
    assert!(
        stored == expected,
        "tests/REQUIREMENTS.md is out of date; set UPDATE_REQUIREMENTS=1 to regenerate it. First new line: {new_line:?}"
    );
}

#[test]
fn test_names_refer_to_existing_requirements() {
    for (id, tests) in find_tests() {
        let (letter, number) = id.split_at(1);
        let count = USE_CASES.iter().find(|(of, _, _)| *of == letter).map_or(0, |(_, _, rows)| rows.len());
        let number: usize = number.parse().unwrap();
        assert!((1..=count).contains(&number), "no requirement {id}, but these tests refer to it: {tests:?}");
    }
}

#[test]
fn only_functions_that_run_as_tests_are_counted() {
    let source = "/// A helper\nfn k1_helper() {}\n\n#[test]\nfn k1_plain() {}\n\n#[tokio::test(start_paused = true)]\n\
        async fn k1_async() {}\n\npub(crate) async fn k1_listed(database: &Database) {}\n";
    let found: Vec<(&str, bool)> = function_names(source).collect();
    assert_eq!(found, [("k1_helper", false), ("k1_plain", true), ("k1_async", true), ("k1_listed", false)]);
    let lists = "tests! {\n    k1_listed,\n}\ntrials!(available, module: k1_inline));\nlet x = k1_called();\n";
    let listed: Vec<&str> = listed_names(lists).collect();
    assert!(listed.contains(&"k1_listed") && listed.contains(&"k1_inline") && !listed.contains(&"k1_called"));
}

#[test]
fn requirement_ids_are_read_from_test_names() {
    assert_eq!(requirement_ids("k1_k5_a_plot_lasts"), BTreeSet::from(["K1".to_owned(), "K5".to_owned()]));
    assert_eq!(requirement_ids("a_file_of_schema_1_is_read"), BTreeSet::new());
    // Therefore no test name begins with the name of this model.
    assert_eq!(requirement_ids("e5_local"), BTreeSet::from(["E5".to_owned()]));
}
