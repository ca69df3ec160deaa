//! Searching the vectors.
//!
//! Postgres proposes, and the inner product that every backend shares decides: what comes back is scored once more from
//! the vectors themselves, so that scores and order are the same everywhere.

use memory_core::{Embedding, Hit, Index, RecordId, Scope};
use memory_vector_store::{Among, FlatIndex, VectorQuery};
use pgvector::Vector;
use sqlx::{Connection, PgConnection, Row};

use crate::{
    failure::Failure,
    filter_sql,
    origin::Origin,
    scopes::{self, Reach},
    statement::Statement,
    vector_index::VectorIndex,
    vectors,
};

/// Up to how many hits the index is asked for: it looks at no more than a thousand at a time.
const MOST_FROM_INDEX: usize = 500;

/// How many more than asked for are scored once more: the server's rounding may have put two close ones the other way.
const SPARE: usize = 8;

/// The index goes on looking, in strict order, until the filter has left enough.
const BEGIN: &str = "BEGIN READ ONLY; SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200; \
                     SET LOCAL hnsw.max_scan_tuples = 40000";

/// The vectors within `scope` that are nearest to the query.
pub(crate) async fn search(
    connection: &mut PgConnection,
    origin: &Origin,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
) -> Result<Vec<Hit>, Failure> {
    let (there, made_by) = count(connection, &Reach::of(scope)).await?;
    origin.check(Index::Embedding, made_by.as_deref(), "vector search")?;
    if there == 0 || query.limit == 0 {
        return Ok(Vec::new());
    }
    if is_proposed(index, there, query) {
        let mut statement = Statement::default();
        write(index, scope, query, true, &mut statement);
        let mut transaction = connection.begin_with(BEGIN).await?;
        let found = run(&mut transaction, statement).await?;
        transaction.commit().await?;
        // An index that found too few may have given up; then every vector is looked at.
        if found.len() >= query.limit.min(usize::try_from(there).unwrap_or(usize::MAX)) {
            return Ok(rescored(index, query, found));
        }
    }
    let mut statement = Statement::default();
    write(index, scope, query, false, &mut statement);
    Ok(rescored(index, query, run(connection, statement).await?))
}

/// Whether the index is asked, of so many vectors within reach.
fn is_proposed(index: &VectorIndex, there: u64, query: &VectorQuery) -> bool {
    index.is_there() && there > index.exact_up_to && query.limit <= MOST_FROM_INDEX
}

/// Writes the statement that a search would run now.
pub(crate) async fn explained(
    connection: &mut PgConnection,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
    statement: &mut Statement,
) -> Result<(), Failure> {
    let (there, _) = count(connection, &Reach::of(scope)).await?;
    write(index, scope, query, is_proposed(index, there, query), statement);
    Ok(())
}

/// How many vectors are within reach, and what they were made by.
async fn count(connection: &mut PgConnection, reach: &Reach) -> Result<(u64, Option<String>), Failure> {
    let mut statement = Statement::new(
        "SELECT coalesce(sum(a.vectors), 0)::bigint, (SELECT o.made_by FROM origins o WHERE o.part = 'embedding')
         FROM addresses a WHERE ",
    );
    reach.is_address("a", &mut statement);
    let row = statement.row(connection).await?;
    Ok((u64::try_from(row.try_get::<i64, _>(0)?).unwrap_or_default(), row.try_get(1)?))
}

type Found = Vec<(RecordId, Embedding)>;

/// Writes the statement for the nearest ones: those that the index proposes, or with each within reach looked at.
fn write(index: &VectorIndex, scope: &Scope, query: &VectorQuery, proposed: bool, statement: &mut Statement) {
    statement.push("SELECT v.id, v.embedding FROM vectors v");
    if query.filter.is_some() {
        statement.push(
            " JOIN records r ON r.ns = v.ns AND r.id = v.id JOIN addresses a ON a.ns = v.ns AND a.address = v.address",
        );
    }
    Reach::of(scope).holds("v", statement.push(" WHERE "));
    if let Some(filter) = &query.filter {
        filter_sql::write(filter, statement.push(" AND "));
    }
    statement.push(" ORDER BY ");
    let to = vectors::kept(&query.embedding);
    if proposed {
        index.indexed_distance(to, statement);
    } else {
        index.distance(to, statement);
        // The sum keeps the planner from the index.
        statement.push(" + 0, v.id");
    }
    statement.push(" LIMIT ").bind(i64::try_from(query.limit.saturating_add(SPARE)).unwrap_or(i64::MAX));
}

async fn run(connection: &mut PgConnection, statement: Statement) -> Result<Found, Failure> {
    let read = |row: &sqlx::postgres::PgRow| {
        let vector: Vector = row.try_get(1)?;
        let embedding = Embedding::new(vector.into()).map_err(|_| Failure::corrupt("a vector"))?;
        Ok((scopes::record_id(row.try_get(0)?), embedding))
    };
    statement.rows(connection).await?.iter().map(read).collect()
}

fn rescored(index: &VectorIndex, query: &VectorQuery, found: Found) -> Vec<Hit> {
    let mut exact = FlatIndex::new(index.space());
    for (number, (id, embedding)) in found.into_iter().enumerate() {
        // Two users of a tenant may have the same id.
        exact.insert((id, number), (), embedding);
    }
    let hits = exact.search(&query.embedding, Among::Everything, query.limit);
    hits.into_iter().map(|((id, _), score)| Hit { id, score }).collect()
}
