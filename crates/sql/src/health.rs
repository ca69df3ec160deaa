//! The counts and the problem texts of the health reports of all backends.

use memory_engine_core::{HealthReport, Scope};

use crate::embedding_versions::VectorTable;

/// The counts of the health report: name and statement. The statements read the first vector table;
/// [`on_serving_table`] replaces it by the serving one.
pub const COUNTS: [(&str, &str); 6] = [
    ("records", "SELECT count(*) FROM records"),
    ("active records", "SELECT count(*) FROM records WHERE state = 'active'"),
    ("tombstones", "SELECT count(*) FROM tombstones"),
    ("keyword documents", "SELECT count(*) FROM keyword_documents"),
    ("vectors", "SELECT count(*) FROM vectors"),
    ("namespaces", "SELECT count(*) FROM namespaces"),
];

/// Name of the count of vectors in the second embedding version.
pub const SECOND_VECTORS: &str = "vectors of the second generation";

/// Problem: active records have no terms and no queued job for them.
pub const NOT_IN_KEYWORD_INDEX: &str =
    "active records are not in the keyword index and are not queued for it; index them again";
/// Problem: active records have no vector and no queued job for one.
pub const WITHOUT_VECTOR: &str = "active records have no vector and are not queued for one; index them again";
/// Problem: inactive records have terms.
pub const INACTIVE_IN_KEYWORD_INDEX: &str = "inactive records are in the keyword index; index all records again";
/// Problem: inactive records have a vector.
pub const INACTIVE_WITH_VECTOR: &str = "inactive records have a vector; index all records again";
/// Problem: inactive records are in the graph.
pub const INACTIVE_IN_GRAPH: &str = "inactive records are in the graph; index all records again";

/// Problem: the groups of records differ from the records.
pub const WRONG_RECORD_GROUPS: &str =
    "groups of records have wrong counts or times; repair the database to count them again";

/// Returns the problem that a deletion of everything of a tenant or user, or of a part of it, was interrupted.
pub fn unfinished_deletion(namespace: &Scope) -> String {
    format!("a deletion of everything within a scope of {namespace} is not complete; if it is not running, repeat it")
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
