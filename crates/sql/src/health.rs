//! The texts and counts that the health reports of all backends share.

use memory_engine_core::HealthReport;

use crate::embedding_versions::VectorTable;

/// The counts of the health report, by name. The statements name the first table of vectors; see
/// [`on_serving_table`].
pub const COUNTS: [(&str, &str); 6] = [
    ("records", "SELECT count(*) FROM records"),
    ("active records", "SELECT count(*) FROM records WHERE state = 'active'"),
    ("tombstones", "SELECT count(*) FROM tombstones"),
    ("keyword documents", "SELECT count(*) FROM keyword_documents"),
    ("vectors", "SELECT count(*) FROM vectors"),
    ("namespaces", "SELECT count(*) FROM namespaces"),
];

/// The name of the count of the vectors that do not serve.
pub const SECOND_VECTORS: &str = "vectors of the second generation";

/// Active records without terms that do not wait for them.
pub const NOT_IN_KEYWORD_INDEX: &str =
    "active records are not in the keyword index and are not queued for it; index them again";
/// Active records without a vector that do not wait for one.
pub const WITHOUT_VECTOR: &str = "active records have no vector and are not queued for one; index them again";
/// Inactive records with terms.
pub const INACTIVE_IN_KEYWORD_INDEX: &str = "inactive records are in the keyword index; index all records again";
/// Inactive records with a vector.
pub const INACTIVE_WITH_VECTOR: &str = "inactive records have a vector; index all records again";
/// Inactive records in the graph.
pub const INACTIVE_IN_GRAPH: &str = "inactive records are in the graph; index all records again";

/// Lets a statement that names the first table of vectors read the table that serves.
pub fn on_serving_table(sql: &str, serving: VectorTable) -> String {
    sql.replace("FROM vectors", &format!("FROM {}", serving.name()))
}

/// Adds the number of vectors that do not serve, and their space, to the report.
pub fn add_second_version(checkup: &mut HealthReport, space: String, vectors: u64) {
    checkup.counts.insert(SECOND_VECTORS.to_owned(), vectors);
    checkup.second_space = Some(space);
}
