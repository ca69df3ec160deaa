use memory_engine_core::{Embedding, EmbeddingSpace, Field, Filter, StoreOptions};

use super::*;
use crate::database::options::PostgresOptions;

/// Returns the statement that a search of this scope sends first.
fn statement(scope: &Scope, filter: Option<Filter>, plan: SearchPlan, reads_records: bool) -> String {
    let space = EmbeddingSpace::cosine("test", 2);
    let mut query = VectorQuery::new(Embedding::new(vec![0.6, 0.8]).unwrap(), 5);
    query.filter = filter;
    let covered = CoveredScope::of(scope);
    let mut statement = StatementBuilder::default();
    VectorStatement {
        metadata: &IndexMetadata::new(&StoreOptions::new(space.clone(), "words-1")),
        index: &VectorIndex::of(space, &PostgresOptions::default()),
        scope,
        covered: &covered,
        assumed: covered.clone(),
        query: &query,
        is_large: false,
        reads_records,
    }
    .push_first(plan, VectorTable::First, &mut statement);
    statement.sql()
}

#[test]
fn finished_statements() {
    let user = Scope::user("lin").unwrap();
    let tenant = Scope::tenant_wide("acme").unwrap();
    let filter = Filter::eq(Field::Session, "monday");
    insta::assert_snapshot!("user_exact_records", statement(&user, None, SearchPlan::Exact, true));
    insta::assert_snapshot!("user_filtered", statement(&user, Some(filter.clone()), SearchPlan::ExactFiltered, false));
    insta::assert_snapshot!(
        "tenant_filtered_records",
        statement(&tenant, Some(filter), SearchPlan::ExactFiltered, true)
    );
    insta::assert_snapshot!("tenant_index", statement(&tenant, None, SearchPlan::Index, false));
}
