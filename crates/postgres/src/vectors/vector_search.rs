//! Searching the vectors.
//!
//! Postgres proposes, and the inner product that every backend shares decides: what comes back is scored once more from
//! the vectors themselves, so that scores and order are the same everywhere.
//!
//! As a rule one statement does all: it counts what is within reach, and finds something if the way that was guessed is the
//! right one for so many. Otherwise a second one goes that way. A scope that was found to be large is not counted again for a
//! while: counting a tenant takes as long as the index does.

use memory_engine_core::{Embedding, Filter, Hit, RecordId, Scope};
use memory_engine_vector_store::{Among, FlatIndex, VectorQuery};
use pgvector::Vector;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::failure::Failure,
    database::origin::Origin,
    database::statement::Statement,
    filter_sql,
    records::scopes::{self, Reach},
    vectors::generations::{self, Table},
    vectors::vector_index::VectorIndex,
    vectors::vector_store,
};

/// Up to how many hits the index is asked for: it looks at no more than a thousand at a time.
const MOST_FROM_INDEX: usize = 500;

/// How many more than asked for may be scored once more: the server's rounding may have put two close ones the other way.
const SPARE: usize = 8;

/// By how much two cosines may differ at the most for that: the server adds in single precision.
const DOUBT: &str = "1e-4";

/// The frame of a window that sees all that was found.
const WHOLE: &str = " WINDOW w AS (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)";

/// A way to the nearest vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Each within reach is looked at.
    Each,
    /// Each that passes the filter is looked at, unless they are too many.
    EachThatPasses,
    /// The index proposes.
    Index,
}

/// What a search is about.
#[derive(Debug)]
struct Search<'s> {
    origin: &'s Origin,
    index: &'s VectorIndex,
    reach: &'s Reach,
    /// The same, for a statement that asks whether it is right.
    guessed: Reach,
    query: &'s VectorQuery,
    /// Whether it was counted lately that there are more than may each be looked at.
    is_large: bool,
}

/// What is known of what is within reach.
#[derive(Debug)]
struct Known {
    /// How many vectors are in the table that serves; `None` when they were not counted, since they are many.
    there: Option<u64>,
    table: Table,
    made_by: Option<String>,
    /// Whether it was counted in the right reach.
    is_right: bool,
    /// How many records pass the filter, up to one more than the ones that each may be looked at.
    passing: Option<u64>,
}

/// The vectors within `scope` that are nearest to the query.
pub(crate) async fn search(
    connection: &mut PgConnection,
    origin: &Origin,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
) -> Result<Vec<Hit>, Failure> {
    let (reach, is_large) = (&Reach::of(scope), index.is_large(scope));
    let mut search = Search { origin, index, reach, guessed: index.tenants().reach(scope), query, is_large };
    let (guess, table) = (search.guess(), index.likely_table());
    let (mut known, mut found) = search.run_first(guess, table, connection).await?;
    if !known.is_right {
        index.tenants().note_several();
        search.guessed = reach.clone();
        (known, found) = search.run_first(guess, table, connection).await?;
    }
    if known.made_by.as_deref() != Some(origin.space()) {
        return Err(generations::known(connection).await?.refusal(origin, "vector search").into());
    }
    index.note_table(known.table);
    if known.there == Some(0) || query.limit == 0 {
        return Ok(Vec::new());
    }
    let way = search.way(&known);
    if (way, known.table) != (guess, table) {
        found = search.run(way, known.table, connection).await?;
    }
    if known.there.is_some_and(|there| there > index.exact_up_to) {
        index.note_large(scope);
    }
    // An index that found too few may have given up; then every vector is looked at.
    let wanted = known.there.map_or(query.limit, |there| query.limit.min(usize::try_from(there).unwrap_or(usize::MAX)));
    if way == Way::Index && found.len() < wanted {
        found = search.run(Way::Each, known.table, connection).await?;
    }
    if found.is_empty() {
        // It may have been dropped since it was counted.
        let known = generations::known(connection).await?;
        if known.serving.as_deref() != Some(origin.space()) {
            return Err(known.refusal(origin, "vector search").into());
        }
    }
    Ok(rescored(index, query, found))
}

/// Writes the statement that a search would run now.
pub(crate) async fn explained(
    connection: &mut PgConnection,
    origin: &Origin,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
    statement: &mut Statement,
) -> Result<(), Failure> {
    let reach = &Reach::of(scope);
    let search = Search { origin, index, reach, guessed: reach.clone(), query, is_large: false };
    let (known, _) = search.run_first(search.guess(), index.likely_table(), connection).await?;
    match search.way(&known) {
        Way::EachThatPasses => search.write_first(Way::EachThatPasses, known.table, statement),
        way @ (Way::Each | Way::Index) => search.write(way, known.table, statement),
    }
    Ok(())
}

impl Search<'_> {
    /// The way that is the right one as a rule: one user has few vectors, and all of a tenant many.
    fn guess(&self) -> Way {
        match self.query.filter {
            Some(_) => Way::EachThatPasses,
            None if (self.is_large || self.reach.is_tenant_wide()) && self.may_be_proposed() => Way::Index,
            None => Way::Each,
        }
    }

    /// The right way, of so many.
    fn way(&self, known: &Known) -> Way {
        let few = self.index.exact_up_to;
        match known.passing {
            Some(passing) if passing <= few => Way::EachThatPasses,
            _ if known.there.is_none_or(|there| there > few) && self.may_be_proposed() => Way::Index,
            _ => Way::Each,
        }
    }

    fn may_be_proposed(&self) -> bool {
        self.index.is_there() && self.query.limit <= MOST_FROM_INDEX
    }

    /// How many may each be looked at, as the server counts.
    fn few(&self) -> usize {
        usize::try_from(self.index.exact_up_to).unwrap_or(usize::MAX).min(i64::MAX as usize - 1)
    }

    /// Writes a statement that counts, and finds something where the guess was right.
    fn write_first(&self, guess: Way, table: Table, statement: &mut Statement) {
        statement.push(
            "WITH c AS MATERIALIZED (
                SELECT (SELECT o.made_by FROM origins o WHERE o.part = 'embedding') AS made_by,
                       (SELECT o.made_by FROM origins o WHERE o.part = 'serving table') AS serving, ",
        );
        self.guessed.is_right(statement);
        statement.push(" AS is_right, ");
        if self.is_large {
            statement.push("NULL::bigint AS first, NULL::bigint AS second");
        } else {
            statement.push(
                "coalesce(sum(a.vectors), 0)::bigint AS first, coalesce(sum(a.second_vectors), 0)::bigint AS second
                 FROM addresses a WHERE ",
            );
            self.guessed.is_address("a", statement);
        }
        statement.push(")");
        if let (Way::EachThatPasses, Some(filter)) = (guess, &self.query.filter) {
            statement.push(", m AS MATERIALIZED (SELECT r.ns, r.id FROM records r");
            join_address(filter, "r", statement);
            self.guessed.holds("r", statement.push(" WHERE "));
            filter_sql::write(filter, statement.push(" AND "));
            statement.push(" AND (SELECT c.is_right FROM c) LIMIT ").number(self.few() + 1).push(")");
        }
        statement.push(" SELECT NULL::uuid, NULL::vector, c.first, c.second, c.made_by, c.serving, c.is_right, ");
        let is_filtered = guess == Way::EachThatPasses;
        statement.push(if is_filtered { "(SELECT count(*) FROM m)" } else { "NULL::bigint" });
        statement.push(" FROM c UNION ALL (SELECT f.id, ");
        self.write_vector(guess, statement);
        statement.push(", NULL, NULL, NULL, NULL, NULL, NULL FROM (");
        match guess {
            Way::EachThatPasses => {
                self.write_distance(guess, statement.push("SELECT v.id, v.embedding, "));
                statement.push(" FROM m JOIN ").push(table.name());
                statement.push(" v ON v.ns = m.ns AND v.id = m.id WHERE ");
                // What is joined lies there too: so much the planner does not see, and would look into all partitions.
                if self.reach.is_tenant_wide() {
                    statement.push("true");
                } else {
                    self.reach.owns("v", statement);
                }
            }
            Way::Each | Way::Index => self.write_selection(guess, &self.guessed, table, statement),
        }
        self.guard(guess, table, statement);
        self.nearest_first(guess, statement);
        statement.push(") f").push(WHOLE).push(")");
    }

    /// Lets the statement find nothing where the other way is the right one, if there is another one, and where vectors of
    /// another space serve, or those of the other table: the server would fail on their length. And where the guessed reach is
    /// not the right one.
    fn guard(&self, guess: Way, table: Table, statement: &mut Statement) {
        statement
            .push(" AND (SELECT c.is_right FROM c) AND (SELECT c.made_by FROM c) = ")
            .bind(self.origin.space().to_owned());
        statement.push(" AND (SELECT coalesce(c.serving, ").bind(Table::First.name().to_owned());
        statement.push(") FROM c) = ").bind(table.name().to_owned());
        if guess == Way::EachThatPasses {
            statement.push(" AND (SELECT count(*) FROM m) <= ").number(self.few());
        } else if !self.is_large && self.may_be_proposed() {
            statement.push(match table {
                Table::First => " AND (SELECT c.first FROM c)",
                Table::Second => " AND (SELECT c.second FROM c)",
            });
            statement.push(if guess == Way::Each { " <= " } else { " > " }).number(self.few());
        }
    }

    /// Writes a statement that goes this way, whatever there is.
    fn write(&self, way: Way, table: Table, statement: &mut Statement) {
        self.write_vector(way, statement.push("SELECT f.id, "));
        self.write_selection(way, self.reach, table, statement.push(" FROM ("));
        self.nearest_first(way, statement);
        statement.push(") f").push(WHOLE);
    }

    /// The vector of row `f`, if it may be one of those asked for: most of what comes over is vectors.
    fn write_vector(&self, way: Way, statement: &mut Statement) {
        if !self.index.is_sure(way == Way::Index) || self.query.limit == 0 {
            statement.push("f.embedding");
            return;
        }
        statement.push("CASE WHEN f.distance - ").push(DOUBT).push(" <= coalesce(nth_value(f.distance, ");
        statement.number(self.query.limit.min(i32::MAX as usize)).push(") OVER w, 'NaN') THEN f.embedding END");
    }

    fn write_selection(&self, way: Way, reach: &Reach, table: Table, statement: &mut Statement) {
        self.write_distance(way, statement.push("SELECT v.id, v.embedding, "));
        statement.push(" FROM ").push(table.name()).push(" v");
        if let Some(filter) = &self.query.filter {
            statement.push(" JOIN records r ON r.ns = v.ns AND r.id = v.id");
            join_address(filter, "v", statement);
        }
        reach.holds("v", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter_sql::write(filter, statement.push(" AND "));
        }
    }

    fn write_distance(&self, way: Way, statement: &mut Statement) {
        let to = vector_store::kept(&self.query.embedding);
        if way == Way::Index {
            self.index.indexed_distance(to, statement);
        } else {
            self.index.distance(to, statement);
            // The sum keeps the planner from the index.
            statement.push(" + 0");
        }
        statement.push(" AS distance");
    }

    fn nearest_first(&self, way: Way, statement: &mut Statement) {
        statement.push(if way == Way::Index { " ORDER BY distance" } else { " ORDER BY distance, v.id" });
        // Not bound: the planner has to know how few are wanted.
        statement.push(" LIMIT ").number(self.query.limit.saturating_add(SPARE).min(i64::MAX as usize));
    }

    async fn run_first(
        &self,
        guess: Way,
        table: Table,
        connection: &mut PgConnection,
    ) -> Result<(Known, Found), Failure> {
        let mut statement = Statement::default();
        self.write_first(guess, table, &mut statement);
        read(statement.rows(connection).await?)
    }

    async fn run(&self, way: Way, table: Table, connection: &mut PgConnection) -> Result<Found, Failure> {
        let mut statement = Statement::default();
        self.write(way, table, &mut statement);
        let rows = statement.rows(connection).await?;
        rows.iter().filter_map(|row| found(row).transpose()).collect()
    }
}

/// Joins the address of `row`, where the filter asks for a part of it.
fn join_address(filter: &Filter, row: &'static str, statement: &mut Statement) {
    if filter_sql::asks_for_address(filter) {
        statement
            .push(" JOIN addresses a ON a.ns = ")
            .push(row)
            .push(".ns AND a.address = ")
            .push(row)
            .push(".address");
    }
}

type Found = Vec<(RecordId, Embedding)>;

/// What there is, which is in the row without an id, and what was found.
fn read(rows: Vec<PgRow>) -> Result<(Known, Found), Failure> {
    let mut known = Known { there: None, table: Table::First, made_by: None, is_right: true, passing: None };
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.try_get::<Option<Uuid>, _>(0)?.is_some() {
            all.extend(found(row)?);
            continue;
        }
        known.table = Table::named(row.try_get::<Option<&str>, _>(5)?);
        let there: Option<i64> = match known.table {
            Table::First => row.try_get(2)?,
            Table::Second => row.try_get(3)?,
        };
        known.there = there.map(|there| u64::try_from(there).unwrap_or_default());
        known.made_by = row.try_get(4)?;
        known.is_right = row.try_get(6)?;
        known.passing = row.try_get::<Option<i64>, _>(7)?.and_then(|passing| u64::try_from(passing).ok());
    }
    Ok((known, all))
}

/// Nothing for one that came without a vector, as it is not among those asked for.
fn found(row: &PgRow) -> Result<Option<(RecordId, Embedding)>, Failure> {
    let Some(vector) = row.try_get::<Option<Vector>, _>(1)? else { return Ok(None) };
    let embedding = Embedding::new(vector.into()).map_err(|_| Failure::corrupt("a vector"))?;
    Ok(Some((scopes::record_id(row.try_get(0)?), embedding)))
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
