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

/// Each row with what it asks for, in few words.
const ROWS: &[(&str, &str, &[&str])] = &[
    (
        "K",
        "a chat gateway with automatic memory",
        &[
            "scene detection by rules",
            "synonyms in the database, both directions, refreshed while it runs",
            "remote embeddings that block and lose nothing",
            "hybrid search over turns and summaries",
            "scene isolation in search",
            "reranking that degrades",
            "one deadline for the whole retrieval",
            "automatic injection by rules",
            "the injected text in the document's format",
            "turns with topic, entities, emotion and round",
            "rolling summaries",
            "an OpenAI-compatible gateway",
            "MCP tools",
            "the Postgres schema as migrations, up and down",
            "imports of history",
            "keys that show nowhere",
            "the document's tables 5.1 to 5.4, end to end",
            "synonym suggestions",
        ],
    ),
    (
        "R",
        "long-term memory of a branching story",
        &[
            "a memory service with two calls",
            "off, vector or graph",
            "isolation by session and branch",
            "items, embeddings, entities, edges with evidence",
            "sources: timeline, interventions, summaries",
            "chunks, hashes, rank by freshness and novelty",
            "injection sections under a budget",
            "graph mode",
            "delete-last with undo",
            "forks with an inheritance policy",
            "confidence and revocation",
            "cost control",
            "a deterministic hash embedder",
            "a debug API",
            "failures leave the story running",
            "embedder, vector store and graph store are traits",
        ],
    ),
    (
        "E",
        "evidence for an analysis pipeline",
        &[
            "three slots in order, never merged",
            "inputs, defaults and environment",
            "never throws, and says why",
            "backend modes",
            "at most five keywords",
            "the SQL functions, directly and by REST",
            "log lines without secrets",
            "two layers and the web-search gate",
            "an aggregation threshold of its own",
        ],
    ),
    (
        "A",
        "a companion with affection and key moments",
        &[
            "everything persisted as in the document's tables",
            "six layers under a hard limit",
            "six stages, one passed in",
            "the profile, every 20 messages",
            "key moments kept verbatim",
            "the last 30 to 50 messages verbatim",
            "related history when the message calls for it",
            "the message flow as one call",
            "the key-moment trigger",
            "affection, logged",
        ],
    ),
    (
        "M",
        "mem0-style memory beside a chat front end",
        &[
            "isolation by user, agent and run",
            "write on chat save",
            "layered retrieval",
            "weak questions",
            "the injected list",
            "silent degradation",
            "settings at run time",
            "acceptance cases A, B and C",
            "a mem0-compatible server and client",
            "memory types; newer facts supersede older ones",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rows that a test's name begins with, such as `k1` and `k5` of `k1_k5_a_name`.
fn rows_of(name: &str) -> BTreeSet<String> {
    let is_row = |part: &&str| {
        let digits = part.strip_prefix(['k', 'r', 'e', 'a', 'm']);
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name.split('_').take_while(is_row).map(str::to_uppercase).collect()
}

/// The names of the functions in a source text, with those that macros make tests of.
fn functions(source: &str) -> impl Iterator<Item = &str> {
    source.split("fn ").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        rest[end..].starts_with(['(', '<']).then(|| &rest[..end])
    })
}

/// The tests of each row: where they are, and what they are called.
fn tests() -> BTreeMap<String, BTreeSet<(String, String)>> {
    let root = root();
    let mut folders: Vec<PathBuf> = ["crates", "tests", "examples"].map(|folder| root.join(folder)).into();
    let mut found: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let file = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                for name in functions(&fs::read_to_string(&path).unwrap()) {
                    for row in rows_of(name) {
                        found.entry(row).or_default().insert((file.clone(), name.to_owned()));
                    }
                }
            }
        }
    }
    found
}

fn table(tests: &BTreeMap<String, BTreeSet<(String, String)>>) -> String {
    let all: usize = ROWS.iter().map(|(_, _, rows)| rows.len()).sum();
    let mut missing = Vec::new();
    let mut text = String::new();
    for (letter, document, rows) in ROWS {
        let _ = write!(text, "\n## {letter}: {document}\n\n| id | what | tests |\n|---|---|---|\n");
        for (n, what) in (1..).zip(*rows) {
            let id = format!("{letter}{n}");
            let of_row = tests.get(&id).into_iter().flatten();
            let cell: Vec<String> = of_row.map(|(file, name)| format!("`{name}` ({file})")).collect();
            if cell.is_empty() {
                missing.push(id.clone());
            }
            let cell = if cell.is_empty() { "**missing**".to_owned() } else { cell.join("<br>") };
            let _ = writeln!(text, "| {id} | {what} | {cell} |");
        }
    }
    let told = if missing.is_empty() { "none".to_owned() } else { missing.join(", ") };
    format!(
        "# Requirements and their tests\n\nWhat the five documents ask for, row by row, and the tests whose names say that they \
         hold a row.\nGenerated by `tests/requirements.rs`; do not edit.\n\n{} of {all} rows have a test that names them. \
         Without one: {told}.\n{text}",
        all - missing.len(),
    )
}

#[test]
fn the_table_of_requirements_is_what_the_tests_say() {
    let (path, made) = (root().join("tests/REQUIREMENTS.md"), table(&tests()));
    if std::env::var_os("UPDATE_REQUIREMENTS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let differing = made.lines().find(|line| !there.lines().any(|old| old == *line));
    assert!(
        there == made,
        "tests/REQUIREMENTS.md is not up to date{}; UPDATE_REQUIREMENTS=1 writes it anew",
        differing.map(|line| format!(", as in \"{line}\"")).unwrap_or_default()
    );
}

#[test]
fn every_row_that_a_test_names_is_a_row_of_a_document() {
    for (row, tests) in tests() {
        let (letter, number) = row.split_at(1);
        let rows = ROWS.iter().find(|(of, _, _)| *of == letter).map_or(0, |(_, _, rows)| rows.len());
        let number: usize = number.parse().unwrap();
        assert!((1..=rows).contains(&number), "there is no row {row}, and {tests:?} name it");
    }
}

#[test]
fn a_name_tells_its_rows_and_words_are_no_rows() {
    assert_eq!(rows_of("k1_k5_a_plot_lasts"), BTreeSet::from(["K1".to_owned(), "K5".to_owned()]));
    assert_eq!(rows_of("a_file_of_schema_1_is_read"), BTreeSet::new());
    assert_eq!(rows_of("e5_local"), BTreeSet::from(["E5".to_owned()]), "so models are not named first in a test");
}
