//! Stores groups of synonyms in the table `synonym_groups`, which other programs may also edit by SQL.

use std::collections::BTreeMap;

use memory_engine_core::{Scope, phrases::fold};
use memory_engine_synonyms::{ApplicableGroups, PairVerdict, SynonymGroup, WordPair};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    rows::{
        namespaces,
        scopes::{self, CoveredScope},
    },
};

/// SQL that selects the columns of groups. A row that was inserted by hand may lack columns that the engine always
/// sets.
macro_rules! select_groups {
    () => {
        "SELECT s.namespace, s.term, array_remove(s.members, NULL) AS members,
            coalesce(s.category, 'general') AS category
         FROM synonym_groups s "
    };
}

pub(crate) async fn list(connection: &mut PgConnection, namespace: Uuid) -> Result<Vec<SynonymGroup>, PostgresError> {
    let rows =
        sqlx::query(concat!(select_groups!(), "WHERE s.namespace = $1")).bind(namespace).fetch_all(connection).await?;
    let mut groups = rows.iter().map(read_group).collect::<Result<Vec<_>, _>>()?;
    groups.sort_by_cached_key(SynonymGroup::key);
    Ok(groups)
}

/// Returns the groups of the namespace of a tenant, and those of `namespace`, which may be the same namespace.
pub(crate) async fn applicable_groups(
    connection: &mut PgConnection,
    tenant: Uuid,
    namespace: Uuid,
) -> Result<ApplicableGroups, PostgresError> {
    // The other namespaces are those of all tenants: the first row decides.
    let sql = concat!(
        "SELECT o.has_others, g.* FROM (
            SELECT EXISTS (SELECT FROM synonym_groups s WHERE s.namespace <> $2) AS has_others
         ) o LEFT JOIN (",
        select_groups!(),
        "WHERE s.namespace = ANY ($1)) g ON true"
    );
    let rows = sqlx::query(sql).bind([tenant, namespace]).bind(tenant).fetch_all(connection).await?;
    let mut has_others = true;
    let mut groups = Vec::new();
    for row in &rows {
        has_others = row.try_get("has_others")?;
        if let Some(owner) = row.try_get::<Option<Uuid>, _>("namespace")? {
            groups.push((owner != tenant, read_group(row)?));
        }
    }
    groups.sort_by_cached_key(|(is_of_user, group)| (*is_of_user, group.key()));
    let groups = groups.into_iter().map(|(_, group)| group).collect();
    Ok(ApplicableGroups { groups, is_same_for_all_users: !has_others })
}

fn read_group(row: &PgRow) -> Result<SynonymGroup, PostgresError> {
    Ok(SynonymGroup {
        term: row.try_get("term")?,
        members: row.try_get("members")?,
        category: row.try_get("category")?,
    })
}

pub(crate) async fn put(
    connection: &mut PgConnection,
    scope: &Scope,
    groups: &[SynonymGroup],
) -> Result<(), PostgresError> {
    let namespace = scopes::namespace(scope);
    namespaces::lock(connection, [scope]).await?;
    let by_key: BTreeMap<String, &SynonymGroup> = groups.iter().map(|group| (group.key(), group)).collect();
    // Groups whose term has another spelling of the same key are replaced, too.
    let mut other_spellings = terms_with_keys(connection, namespace, |key| by_key.contains_key(key)).await?;
    other_spellings.retain(|term| by_key.values().all(|group| group.term != *term));
    remove(connection, namespace, &other_spellings).await?;
    for group in by_key.values() {
        sqlx::query(
            "INSERT INTO synonym_groups (namespace, term, members, category) SELECT $1, $2, $3, $4
             ON CONFLICT (namespace, term) DO UPDATE SET members = excluded.members, category = excluded.category",
        )
        .bind(namespace)
        .bind(&group.term)
        .bind(&group.members)
        .bind(&group.category)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Returns the stored terms whose keys (folded forms) match. The database stores only the original spelling.
pub(crate) async fn terms_with_keys(
    connection: &mut PgConnection,
    namespace: Uuid,
    matches: impl Fn(&str) -> bool,
) -> Result<Vec<String>, PostgresError> {
    let sql = "SELECT s.term FROM synonym_groups s WHERE s.namespace = $1";
    let mut terms: Vec<String> = sqlx::query_scalar(sql).bind(namespace).fetch_all(connection).await?;
    terms.retain(|term| matches(&fold(term)));
    Ok(terms)
}

/// Removes the groups of these terms. Returns the number of removed groups.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    namespace: Uuid,
    terms: &[String],
) -> Result<u64, PostgresError> {
    if terms.is_empty() {
        return Ok(0);
    }
    let removed = sqlx::query("DELETE FROM synonym_groups s WHERE s.namespace = $1 AND s.term = ANY ($2)")
        .bind(namespace)
        .bind(terms)
        .execute(connection)
        .await?;
    Ok(removed.rows_affected())
}

pub(crate) async fn verdicts(
    connection: &mut PgConnection,
    namespace: Uuid,
) -> Result<Vec<PairVerdict>, PostgresError> {
    let sql = "SELECT v.first, v.second, v.accepted FROM synonym_verdicts v WHERE v.namespace = $1
        ORDER BY v.first, v.second";
    let rows = sqlx::query(sql).bind(namespace).fetch_all(connection).await?;
    let verdict = |row: &sqlx::postgres::PgRow| {
        let pair = WordPair::new(row.try_get("first")?, row.try_get("second")?);
        // The health check reports a verdict that cannot be read.
        let Some(pair) = pair else { return Ok(None) };
        Ok(Some(PairVerdict { pair, accepted: row.try_get("accepted")? }))
    };
    rows.iter().filter_map(|row| verdict(row).transpose()).collect()
}

pub(crate) async fn judge(
    connection: &mut PgConnection,
    scope: &Scope,
    verdicts: &[PairVerdict],
) -> Result<(), PostgresError> {
    let namespace = scopes::namespace(scope);
    namespaces::lock(connection, [scope]).await?;
    // Of two verdicts about one pair the later one is stored, since a statement must not write a row twice.
    let by_pair: BTreeMap<&WordPair, bool> = verdicts.iter().map(|verdict| (&verdict.pair, verdict.accepted)).collect();
    sqlx::query(
        "INSERT INTO synonym_verdicts (namespace, first, second, accepted)
         SELECT $1, x.* FROM unnest($2::text[], $3::text[], $4::boolean[]) x
         ON CONFLICT (namespace, first, second) DO UPDATE SET accepted = excluded.accepted",
    )
    .bind(namespace)
    .bind(by_pair.keys().map(|pair| pair.first().to_owned()).collect::<Vec<_>>())
    .bind(by_pair.keys().map(|pair| pair.second().to_owned()).collect::<Vec<_>>())
    .bind(by_pair.values().copied().collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn clear(connection: &mut PgConnection, covered: &CoveredScope) -> Result<u64, PostgresError> {
    let namespaces = covered.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    let mut removed = 0;
    for sql in [
        "DELETE FROM synonym_groups s WHERE s.namespace = ANY ($1)",
        "DELETE FROM synonym_verdicts v WHERE v.namespace = ANY ($1)",
    ] {
        removed += sqlx::query(sql).bind(&namespaces).execute(&mut *connection).await?.rows_affected();
    }
    Ok(removed)
}
