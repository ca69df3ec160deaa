//! docs/reference/compatibility.md has a row for each route and field of the APIs of others.

use std::{collections::BTreeSet, fs};

use memory_engine_server::Tools;
use serde_json::Value;

use crate::{
    limits::Document,
    openapi::{document, engine, full_server},
};

/// The tags of the routes that another API defines.
const FOREIGN_TAGS: [&str; 7] = ["mem0", "mem0 platform", "gateway", "vector stores", "memory tool", "items", "mcp"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// A row of a table of the page.
#[derive(Debug)]
struct Row<'p> {
    /// The heading of its section.
    section: &'p str,
    /// The texts in backquotes of its first cell.
    names: Vec<&'p str>,
    /// Its second cell.
    support: &'p str,
}

fn file(path: &str) -> String {
    fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let sections = page.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap());
    sections.flat_map(|(heading, text)| text.lines().filter_map(move |line| row(heading, line))).collect()
}

fn row<'p>(section: &'p str, line: &'p str) -> Option<Row<'p>> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let names = cells.next()?.split('`').skip(1).step_by(2).collect();
    Some(Row { section, names, support: cells.next()? })
}

fn is_foreign(operation: &Value) -> bool {
    FOREIGN_TAGS.iter().any(|tag| operation["tags"][0] == *tag)
}

/// Returns true for a method and a path.
fn is_route(name: &str) -> bool {
    name.split_once(' ').is_some_and(|(method, path)| METHODS.contains(&method) && path.starts_with('/'))
}

/// Returns the parameters of an operation, and the fields of its body.
fn fields<'d>(document: &'d Document, operation: &'d Value) -> BTreeSet<&'d str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|parameter| parameter["name"].as_str().unwrap());
    let body = document.body(operation).and_then(|schema| schema["properties"].as_object());
    parameters.chain(body.into_iter().flatten().map(|(name, _)| name.as_str())).collect()
}

#[tokio::test]
async fn each_route_and_field_of_another_api_has_a_row() {
    let engine = engine().await;
    let document = Document(document(&full_server(&engine).tools(Tools::new(engine.clone())).router()).await);
    let page = file("docs/reference/compatibility.md");
    let rows = rows(&page);
    let mut served = BTreeSet::new();
    for (method, path, operation) in document.operations().filter(|(_, _, operation)| is_foreign(operation)) {
        let route = format!("{} {path}", method.to_uppercase());
        let of_route = rows.iter().filter(|row| row.names.contains(&route.as_str()));
        let sections: BTreeSet<&str> = of_route.map(|row| row.section).collect();
        assert!(!sections.is_empty(), "{route} has no row");
        let of_sections = rows.iter().filter(|row| sections.contains(row.section));
        let names: BTreeSet<&str> = of_sections.flat_map(|row| row.names.iter().copied()).collect();
        let missing: Vec<&str> = fields(&document, operation).difference(&names).copied().collect();
        assert!(missing.is_empty(), "{route}: the fields {missing:?} have no row in {sections:?}");
        served.insert(route);
    }
    assert!(served.len() > 40, "{served:?}");
    for row in &rows {
        for name in row.names.iter().filter(|name| is_route(name)) {
            let is_absent = matches!(row.support, "missing" | "refused");
            let is_served = served.contains(*name);
            assert!(
                if is_served { row.support != "missing" } else { is_absent },
                "{name} is served: {is_served}; {row:?}"
            );
        }
    }
}

#[test]
fn the_page_names_the_versions_of_the_clients() {
    let page = file("docs/reference/compatibility.md");
    let requirements = file("scripts/clients/requirements.txt");
    let clients: Vec<(&str, &str)> = requirements.lines().filter_map(|line| line.split_once("==")).collect();
    assert!(clients.len() > 3, "{clients:?}");
    for (name, version) in clients {
        let row = format!("| `{name}` (Python) | {version}");
        assert!(page.contains(&row), "docs/reference/compatibility.md has no row that begins with {row:?}");
    }
}
