//! The tables of spans in `docs/reference/metrics.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::capture::CapturedSpan;

const COMMON_FIELDS: [&str; 4] = ["outcome", "error.type", "duration_ms", "otel.status_code"];
const SCOPE_FIELDS: [&str; 2] = ["scope.depth", "scope.id"];

#[derive(Debug)]
struct Row {
    level: String,
    fields: BTreeSet<String>,
}

/// The documented spans.
pub(crate) struct Table(BTreeMap<String, Row>);

impl Table {
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut rows = BTreeMap::new();
        let mut common: Vec<&str> = Vec::new();
        let mut has_level = false;
        for line in page.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if line.starts_with("### Calls of the engine") {
                common = [COMMON_FIELDS.as_slice(), SCOPE_FIELDS.as_slice()].concat();
            } else if line.starts_with("These concern the whole store") {
                common = COMMON_FIELDS.to_vec();
            } else if line.starts_with("| span |") {
                has_level = cells[1] == "level";
            } else if let Some(name) = cells[0].strip_prefix("`memory_engine.").filter(|_| line.starts_with('|')) {
                let name = format!("memory_engine.{}", name.trim_end_matches('`'));
                let (level, own) = if has_level { (cells[1], cells[2]) } else { ("DEBUG", cells[1]) };
                let own = own.split(',').map(|field| field.trim().trim_matches('`')).filter(|field| !field.is_empty());
                let fields = own.chain(common.iter().copied()).map(str::to_owned).collect();
                let old = rows.insert(name, Row { level: level.to_owned(), fields });
                assert!(old.is_none(), "a span is listed twice: {line}");
            }
        }
        assert!(rows.len() > 50, "the page has no tables: {}", rows.len());
        Self(rows)
    }

    /// Checks that a span is listed, with its level and all of its fields.
    pub(crate) fn check(&self, span: &CapturedSpan) {
        let Some(row) = self.0.get(span.name) else { panic!("{} is not listed", span.name) };
        let declared: BTreeSet<String> = span.declared.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(declared, row.fields, "the fields of {}", span.name);
        assert_eq!(span.level, row.level, "the level of {}", span.name);
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}
