//! Documented features, number of crates and Rust version against the manifests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use serde_json::Value;

/// Maximum number of crates that a program with the library without features builds, ours included.
const MAX_CRATES_WITHOUT_FEATURES: usize = 69;
/// Maximum number of crates that a program with the library and its default features builds, ours included.
const MAX_CRATES_OF_LIBRARY: usize = 102;
/// Maximum number of crates that the command builds with its default features, ours included.
const MAX_CRATES_OF_COMMAND: usize = 308;

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages of the workspace by name.
fn packages() -> BTreeMap<String, Value> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    packages.into_iter().map(|package| (package["name"].as_str().unwrap().to_owned(), package)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The rows of the table of features in a README: name, and whether it is on by default.
fn documented_features(readme: &str) -> BTreeMap<String, bool> {
    let rows = readme.lines().skip_while(|line| !line.starts_with("| feature | contents | default |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert!(matches!(cells[3], "yes" | "no"), "{line}");
        (cells[1].trim_matches('`').to_owned(), cells[3] == "yes")
    });
    rows.collect()
}

/// The features of a package that are on by default, directly or by another one.
fn default_features(features: &BTreeMap<String, Vec<String>>) -> BTreeSet<&str> {
    let mut on = BTreeSet::new();
    let mut open = vec!["default"];
    while let Some(name) = open.pop() {
        for feature in features.get(name).into_iter().flatten() {
            if features.contains_key(feature) && on.insert(feature.as_str()) {
                open.push(feature);
            }
        }
    }
    on
}

/// The Rust versions in a text, in the order in which they stand: the numbers after "Rust ", with or without a bracket.
fn rust_versions(text: &str) -> Vec<String> {
    let after = text.split("Rust ").skip(1).map(|rest| rest.trim_start_matches('('));
    let number = |rest: &str| rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect::<String>();
    let numbers = after.map(number).map(|number| number.trim_end_matches('.').to_owned());
    numbers.filter(|number| number.contains('.')).collect()
}

#[test]
fn feature_table_matches_manifest() {
    let package = &packages()["memory-engine"];
    let features: BTreeMap<String, Vec<String>> = serde_json::from_value(package["features"].clone()).unwrap();
    let on = default_features(&features);
    let expected: BTreeMap<String, bool> = features
        .keys()
        .filter(|name| *name != "default")
        .map(|name| (name.clone(), on.contains(name.as_str())))
        .collect();
    assert_eq!(documented_features(&read("crates/memory-engine/README.md")), expected);
}

/// Fails if a package builds more than `max` crates on this platform, itself and procedural macros included.
fn assert_few_crates(package: &str, features: &[&str], max: usize) {
    let arguments = ["tree", "--offline", "--locked", "-p", package, "--edges", "normal,build", "--prefix", "none"];
    let tree = cargo(&[arguments.as_slice(), features].concat());
    // The path of a crate of ours, and `(proc-macro)`, come after the version.
    let name_and_version = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let crates: BTreeSet<String> = tree.lines().map(name_and_version).collect();
    let names = crates.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    assert!(crates.len() <= max, "{package} builds {} crates instead of at most {max}: {names}", crates.len());
    assert!(crates.iter().any(|line| line.starts_with("memory-engine-core ")), "this is no tree:\n{tree}");
}

#[test]
fn few_crates_are_built() {
    assert_few_crates("memory-engine", &["--no-default-features"], MAX_CRATES_WITHOUT_FEATURES);
    assert_few_crates("memory-engine", &[], MAX_CRATES_OF_LIBRARY);
    assert_few_crates("memory-engine-cli", &[], MAX_CRATES_OF_COMMAND);
}

/// The parts of a version such as `1.94.0`, for comparisons.
fn version_parts(version: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}

#[test]
fn no_dependency_needs_a_newer_rust() {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let platform = String::from_utf8(rustc.stdout).unwrap();
    let platform = platform.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked", "--all-features"];
    let metadata = cargo(&[arguments.as_slice(), &["--filter-platform", platform]].concat());
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let ours = packages()["memory-engine"]["rust_version"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let versions = packages.iter().filter_map(|package| Some((&package["name"], package["rust_version"].as_str()?)));
    let newer: Vec<String> = versions
        .filter(|(_, version)| version_parts(version) > version_parts(&ours))
        .map(|(name, version)| format!("{name} needs {version}"))
        .collect();
    assert!(newer.is_empty(), "newer than {ours}: {newer:?}");
    assert!(packages.len() > 100, "{} packages are too few", packages.len());
}

/// The features with which a program builds a crate, if it uses the library with these features.
fn features_of(name: &str, library_features: &str) -> String {
    let arguments =
        ["tree", "--offline", "-p", "memory-engine", "--edges", "normal", "--prefix", "none", "--format", "{p} {f}"];
    let tree = cargo(&[arguments.as_slice(), &["--features", library_features]].concat());
    let found = tree.lines().find(|line| line.starts_with(&format!("{name} v")));
    found.unwrap_or_else(|| panic!("{name} is not in the tree")).to_owned()
}

#[test]
fn library_enables_no_map_features() {
    let json = features_of("serde_json", "postgres,http-models,onnx,bpe,metrics");
    assert!(json.contains("std") && !json.contains("preserve_order"), "{json}");
    // The driver of Postgres switches `rc` on.
    let serde = features_of("serde", "http-models,onnx,bpe,metrics");
    assert!(serde.contains("derive") && !serde.split([' ', ',']).any(|feature| feature == "rc"), "{serde}");
}

#[test]
fn readmes_state_the_rust_version() {
    let packages = packages();
    let version = |name: &str| packages[name]["rust_version"].as_str().unwrap().to_owned();
    let stated = rust_versions(&read("crates/memory-engine/README.md"));
    assert_eq!(stated, [version("memory-engine")]);
    for (name, package) in &packages {
        assert_eq!(package["rust_version"].as_str(), Some(version("memory-engine").as_str()), "{name}");
    }
    assert_eq!(rust_versions(&read("README.md")).first(), Some(&version("memory-engine")));
}

#[test]
fn text_without_version_has_none() {
    assert_eq!(rust_versions("Rust 1.90 or later. Rust (1.94 or later), Rust types"), ["1.90", "1.94"]);
}
