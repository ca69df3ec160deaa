//! Dependencies between our packages, drivers that only their adapters may use, import circles and file lengths.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "arrows/modules.rs"]
mod modules;
#[path = "arrows/tokens.rs"]
mod tokens;

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::Value;

/// The dependencies on our own packages that each package may have. `docs/design/architecture.md` says why.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("memory-engine-core", &[]),
    ("memory-engine-text", &["core"]),
    ("memory-engine-embedder", &["core"]),
    ("memory-engine-vector-store", &["core"]),
    ("memory-engine-keyword-store", &["core", "text"]),
    ("memory-engine-reranker", &["core", "text"]),
    ("memory-engine-scene", &["core", "text"]),
    ("memory-engine-screening", &["core", "text"]),
    // Importers, summarizer and server read messages in one way.
    ("memory-engine-intake", &["core", "text"]),
    ("memory-engine-synonyms", &["core", "keyword-store", "text"]),
    ("memory-engine-temporal", &["core", "text"]),
    ("memory-engine-context", &["core", "text"]),
    ("memory-engine-local-models", &["core", "embedder", "reranker"]),
    ("memory-engine-graph", &["core", "llm", "text"]),
    // Shared by both adapters; no driver.
    ("memory-engine-sql", &["core", "graph", "keyword-store", "vector-store"]),
    ("memory-engine-sqlite", &["core", "graph", "keyword-store", "sql", "sqlite3mc", "synonyms", "vector-store"]),
    // SQLite itself, compiled from source.
    ("memory-engine-sqlite3mc", &[]),
    ("memory-engine-postgres", &["core", "graph", "keyword-store", "sql", "synonyms", "vector-store"]),
    ("memory-engine-conformance", &["core", "graph", "keyword-store", "synonyms", "vector-store"]),
    ("memory-engine-llm", &["core"]),
    // `temporal` resolves the dates of appointments against the turn that names them.
    ("memory-engine-summarizer", &["core", "context", "intake", "llm", "temporal", "text"]),
    ("memory-engine-http-models", &["core", "embedder", "reranker", "llm"]),
    (
        "memory-engine-indexing",
        &["core", "embedder", "graph", "keyword-store", "screening", "temporal", "vector-store"],
    ),
    (
        "memory-engine-recall",
        &[
            "core",
            "context",
            "embedder",
            "graph",
            "indexing",
            "keyword-store",
            "llm",
            "reranker",
            "scene",
            "synonyms",
            "temporal",
            "text",
            "vector-store",
        ],
    ),
    ("memory-engine-enrichment", &["core", "embedder", "graph", "indexing", "llm", "summarizer", "vector-store"]),
    // Reviews, retractions and deletions run the jobs of derived records again; they need no recall.
    ("memory-engine-curation", &["core", "context", "enrichment", "indexing", "screening", "summarizer", "synonyms"]),
    // Opens both backends; merges delete and run jobs.
    (
        "memory-engine-databases",
        &["core", "curation", "graph", "indexing", "keyword-store", "postgres", "sqlite", "synonyms", "vector-store"],
    ),
    (
        "memory-engine",
        &[
            "core",
            "curation",
            "databases",
            "embedder",
            "vector-store",
            "keyword-store",
            "indexing",
            "recall",
            "enrichment",
            "reranker",
            "scene",
            "screening",
            "synonyms",
            "temporal",
            "llm",
            "graph",
            "summarizer",
            "context",
            "sql",
            "sqlite",
            "postgres",
            "local-models",
            "http-models",
        ],
    ),
    // Recipes: one product each on top of the facade.
    ("memory-engine-companion", &["", "core", "context", "llm", "summarizer"]),
    ("memory-engine-story", &["", "core", "context", "summarizer"]),
    ("memory-engine-evidence", &["", "core", "http-models", "postgres", "vector-store"]),
    ("memory-engine-agent-hooks", &["", "intake", "text"]),
    // Files of the model as records.
    ("memory-engine-tool-backends", &["", "intake"]),
    // Readers of foreign formats yield rows; they need no engine.
    ("memory-engine-import", &["core", "intake", "text", "sqlite3mc"]),
    // Pure functions over JSON.
    ("memory-engine-dialects", &[]),
    ("memory-engine-server", &["", "agent-hooks", "companion", "dialects", "http-models", "intake", "tool-backends"]),
    ("memory-engine-cli", &["", "agent-hooks", "companion", "http-models", "import", "intake", "server"]),
    ("memory-engine-benches", &[""]),
    // The examples show that facade, recipes and server are enough.
    ("aicy-companion", &["", "companion", "server"]),
    ("kelivo-gateway", &["", "server"]),
    ("market-evidence", &["", "evidence", "server"]),
    ("quickstart", &["", "server"]),
    // For a feature of it.
    ("sillytavern-mem0", &["", "http-models", "server"]),
    ("story-memory", &["", "server", "story"]),
    ("memory-engine-tests", &[""]),
    // Calls every reader of foreign input.
    (
        "memory-engine-fuzz",
        &[
            "",
            "context",
            "core",
            "graph",
            "http-models",
            "import",
            "intake",
            "keyword-store",
            "llm",
            "postgres",
            "server",
            "sqlite",
            "summarizer",
            "temporal",
            "vector-store",
        ],
    ),
];

/// Third-party crates that only the named packages may depend on.
const RESTRICTED_CRATES: &[(&str, &[&str])] = &[
    ("rusqlite", &["memory-engine-sqlite", "memory-engine-import"]),
    ("libsqlite3-sys", &["memory-engine-sqlite3mc"]),
    ("sqlx", &["memory-engine-postgres", "memory-engine-tests"]),
    ("pgvector", &["memory-engine-postgres"]),
    ("reqwest", &["memory-engine-http-models"]),
    ("ort", &["memory-engine-local-models"]),
    (
        "anyhow",
        &[
            "memory-engine-cli",
            "memory-engine-benches",
            "aicy-companion",
            "kelivo-gateway",
            "market-evidence",
            "sillytavern-mem0",
            "story-memory",
        ],
    ),
    (
        "tokio",
        &[
            "memory-engine",
            "memory-engine-indexing",
            "memory-engine-recall",
            "memory-engine-enrichment",
            "memory-engine-curation",
            "memory-engine-databases",
            "memory-engine-companion",
            "memory-engine-story",
            "memory-engine-evidence",
            "memory-engine-agent-hooks",
            "memory-engine-sqlite",
            "memory-engine-http-models",
            "memory-engine-postgres",
            "memory-engine-server",
            "memory-engine-cli",
            "memory-engine-benches",
            "memory-engine-fuzz",
            "aicy-companion",
            "kelivo-gateway",
            "market-evidence",
            "quickstart",
            "sillytavern-mem0",
            "story-memory",
        ],
    ),
    ("memory-engine-conformance", &[]),
];

type Packages = BTreeMap<String, Vec<String>>;

/// Returns what a command of cargo prints.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Every package of the workspace with its normal and build dependencies.
fn packages() -> Packages {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let normal = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap();
        all.iter().filter(|dependency| dependency["kind"] != "dev").map(name).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (name(package), normal(package))).collect()
}

fn ours(short: &str) -> String {
    if short.is_empty() { "memory-engine".into() } else { format!("memory-engine-{short}") }
}

#[test]
fn packages_depend_only_on_allowed_packages() {
    let packages = packages();
    for (package, dependencies) in &packages {
        let allowed = ALLOWED_DEPENDENCIES.iter().find(|(name, _)| name == package);
        let Some((_, allowed)) = allowed else {
            panic!("{package} has no row in ALLOWED_DEPENDENCIES; add one and give the reason")
        };
        for dependency in dependencies.iter().filter(|d| packages.contains_key(*d)) {
            let known = allowed.iter().any(|short| ours(short) == *dependency);
            assert!(known, "{package} may not depend on {dependency}");
        }
    }
    for (name, _) in ALLOWED_DEPENDENCIES {
        assert!(packages.contains_key(*name), "ALLOWED_DEPENDENCIES names {name}, which is not a package");
    }
}

#[test]
fn drivers_and_runtimes_stay_in_their_packages() {
    for (package, dependencies) in packages() {
        for (restricted, allowed) in RESTRICTED_CRATES {
            let depends = dependencies.iter().any(|d| d == restricted);
            assert!(!depends || allowed.contains(&package.as_str()), "{package} may not depend on {restricted}");
        }
    }
}

/// `crates/sqlite3mc/README.md` says why.
#[test]
fn every_user_of_sqlite_links_the_encrypting_one() {
    let packages = packages();
    let users: Vec<_> =
        packages.iter().filter(|(_, dependencies)| dependencies.iter().any(|d| d == "rusqlite")).collect();
    assert!(!users.is_empty(), "no package depends on rusqlite");
    for (package, dependencies) in users {
        let linked = dependencies.iter().any(|dependency| dependency == "memory-engine-sqlite3mc");
        assert!(linked, "{package} depends on rusqlite; it must also depend on memory-engine-sqlite3mc");
    }
}

/// A command for all members, as in a fresh clone, must not enable `in_gecko`.
#[test]
fn members_without_features_share_the_bundled_sqlite() {
    let features = |more: &[&str]| {
        let tree = ["tree", "--workspace", "--offline", "--prefix", "none", "--format", "{p} {f}"];
        let tree = cargo(&[tree.as_slice(), more].concat());
        let line = tree.lines().find(|line| line.starts_with("libsqlite3-sys v")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("libsqlite3-sys is not in the tree:\n{tree}"))
    };
    let (without, all) = (features(&[]), features(&["--all-features"]));
    assert!(without.contains("bundled") && !without.contains("in_gecko"), "{without}");
    assert!(all.contains("in_gecko"), "{all}");
}

#[test]
fn source_files_stay_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("crates"), root.join("examples")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                seen += 1;
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                let most = if path.ends_with("src/lib.rs") { 80 } else { 600 };
                assert!(lines <= most, "{} has {lines} lines; {most} are the most", path.display());
            }
        }
    }
    assert!(seen > 50, "only {seen} files were looked at: is this the right folder?");
}
