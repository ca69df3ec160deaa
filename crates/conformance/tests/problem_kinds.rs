//! The kinds of problems in `docs/reference/doctor.md` are those of the code, and each has a damage in the tests of the
//! backends.
#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::{collections::BTreeSet, fs};

use memory_engine_conformance::damage::damages;
use memory_engine_core::{ProblemKind, Remedy};

/// The kinds whose damages `damage.rs` and `cache_check.rs` in `sqlite/tests/integration` write into files.
const FILE_DAMAGES: [ProblemKind; 3] = [ProblemKind::FileDamaged, ProblemKind::IndexInvalid, ProblemKind::CacheWrong];

fn damaged(backend: &str) -> BTreeSet<ProblemKind> {
    damages(backend).into_iter().flat_map(|damage| damage.kinds).collect()
}

#[test]
fn the_documentation_lists_every_kind_with_its_backends() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/doctor.md");
    let page = fs::read_to_string(path).unwrap();
    let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let mut on_sqlite = damaged("sqlite");
    on_sqlite.extend(FILE_DAMAGES);
    let on_postgres = damaged("postgres");
    let row = |kind: ProblemKind| {
        let backend = match (on_sqlite.contains(&kind), on_postgres.contains(&kind)) {
            (true, true) => "both",
            (true, false) => "SQLite",
            (false, true) => "Postgres",
            (false, false) => "no backend: the kind has no damage",
        };
        let remedy = match kind.remedy() {
            Remedy::Repair(text) => format!("`--repair`: {text}"),
            Remedy::Manual(text) => format!("a person: {text}"),
            _ => String::new(),
        };
        format!("| `{kind}` | {} | {backend} | {remedy} |", kind.meaning())
    };
    let expected: Vec<String> = ProblemKind::ALL.into_iter().map(row).collect();
    assert_eq!(listed, expected);
}

#[test]
fn each_backend_has_many_kinds_of_damages() {
    for (backend, kinds) in [("sqlite", 60), ("postgres", 60)] {
        assert!(damaged(backend).len() >= kinds, "{backend}: {}", damaged(backend).len());
    }
}
