use memory_engine_core::{Field, Filter};
use memory_engine_keyword_store::WeightedTerm;

use super::*;

/// Returns the statement of a search of this scope for a clause of two terms and one of one.
fn statement(scope: &Scope, filter: Option<Filter>, selection: Selection, reads_records: bool) -> String {
    let term = |term: &str, weight| WeightedTerm { term: term.to_owned(), weight };
    let synonyms = Clause { terms: vec![term("docker", 1.0), term("容器", 0.5)], weight: 1.0 };
    let mut query = KeywordQuery::new(vec![synonyms, Clause::term("port")], 5);
    query.filter = filter;
    let query_terms = DistinctTerms::of(&query.clauses);
    let mut statement = StatementBuilder::default();
    KeywordStatement { scope, query: &query, query_terms: &query_terms, reads_records }.push(
        selection,
        &CoveredScope::of(scope),
        &mut statement,
    );
    statement.sql()
}

#[test]
fn finished_statements() {
    let user = Scope::user("lin").unwrap();
    let tenant = Scope::tenant_wide("acme").unwrap();
    let filter = Filter::eq(Field::Session, "monday");
    insta::assert_snapshot!("user_few_records", statement(&user, None, Selection::Few, true));
    insta::assert_snapshot!("user_all_filtered", statement(&user, Some(filter.clone()), Selection::All, false));
    insta::assert_snapshot!("user_best", statement(&user, None, Selection::Best, false));
    insta::assert_snapshot!("tenant_best_filtered_records", statement(&tenant, Some(filter), Selection::Best, true));
}
