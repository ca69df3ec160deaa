//! The counts and findings that the health reports of all backends share.

use memory_engine_core::{EmbeddingSpace, Finding, HealthReport, ProblemKind, Scope};

use crate::embedding_versions::{SECOND_PART, SERVING_PART, StoredEmbeddingVersions, VectorTable};

/// The counts of the health report: name and statement. The statements read the first vector table;
/// [`on_serving_table`] replaces it by the serving one.
pub const COUNTS: [(&str, &str); 8] = [
    ("records", "SELECT count(*) FROM records"),
    ("active records", "SELECT count(*) FROM records WHERE state = 'active'"),
    ("tombstones", "SELECT count(*) FROM tombstones"),
    ("keyword documents", "SELECT count(*) FROM keyword_documents"),
    ("vectors", "SELECT count(*) FROM vectors"),
    ("namespaces", "SELECT count(*) FROM namespaces"),
    ("synonym groups", "SELECT count(*) FROM synonym_groups"),
    ("mentions of entities", "SELECT count(*) FROM graph_entities"),
];

/// Name of the count of vectors in the second embedding version.
pub const SECOND_VECTORS: &str = "vectors of the second embedding version";

/// Returns the finding of deletions of everything within a scope that were interrupted, by their namespaces.
pub fn unfinished_deletions(namespaces: &[Scope]) -> Option<Finding> {
    let namespaces = namespaces.iter().map(ToString::to_string).collect();
    Finding::of_list(ProblemKind::DeletionUnfinished, namespaces)
}

/// Returns the findings about the rows of `index_metadata` that describe the embedding versions.
pub fn check_spaces(versions: &StoredEmbeddingVersions) -> Option<Finding> {
    let named = [(SERVING_PART, &versions.serving), (SECOND_PART, &versions.second)];
    let is_unreadable = |space: &Option<String>| space.as_deref().is_some_and(|s| EmbeddingSpace::parse(s).is_none());
    let unreadable = named.into_iter().filter(|(_, space)| is_unreadable(space)).map(|(part, _)| part.to_owned());
    Finding::of_list(ProblemKind::SpaceUnreadable, unreadable.collect())
}

/// Replaces the first vector table in a statement by the serving one.
pub fn on_serving_table(sql: &str, serving: VectorTable) -> String {
    sql.replace("FROM vectors", &format!("FROM {}", serving.name()))
}

/// Adds the vectors of the second version and their space to the report.
pub fn add_second_version(report: &mut HealthReport, space: String, vectors: u64) {
    report.counts.insert(SECOND_VECTORS.to_owned(), vectors);
    report.second_space = Some(space);
}
