//! Repairs the findings of a health check, each kind in one transaction that blocks writes and migrations.

use memory_engine_core::{Clock, Error, ErrorKind, Finding, ProblemKind, SystemClock};
use memory_engine_sql::{checks::Placeholders, embedding_versions::VectorTable};
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, index_metadata, migration},
    health_check::{
        content_checks,
        contents::{WrongContents, WrongRows, hash_and_folded_text},
        schema_objects::SchemaDifferences,
    },
    vectors::{embedding_versions, vector_index::VectorIndex},
};

/// Maximum number of passes over the contents. A pass repairs at most some thousand rows of a kind.
const MAX_PASSES: usize = 100_000;

/// Repairs what can be repaired. Returns a description of each repair, and of each that failed.
pub(crate) async fn run(connection: &mut PgConnection) -> Result<Vec<String>, PostgresError> {
    let schema = migration::version(connection).await?;
    if schema != migration::SCHEMA {
        let message = format!("the database has schema {schema}, not {}; migrate it first", migration::SCHEMA);
        return Err(Error::new(ErrorKind::SchemaMismatch, "repair", message).into());
    }
    let differences = SchemaDifferences::of(connection).await?;
    if differences.prevents_checks() {
        let message = "tables or columns are missing; restore the database from a backup";
        return Err(Error::new(ErrorKind::Corrupt, "repair", message).into());
    }
    let mut repaired = run_statements(connection, &differences.findings, &differences.repairs).await?;
    repaired.extend(repair_contents(connection).await?);
    for check in content_checks::all()? {
        let Some(repair) = check.repair else { continue };
        // Read for each check, because a repair may change them.
        let placeholders = Placeholders::new(&index_metadata::read_versions(connection).await?, SystemClock.now());
        let Some(finding) = content_checks::find(connection, &check, &placeholders).await? else { continue };
        let statements = placeholders.fill(&repair.replace("{ticket}", &Uuid::now_v7().to_string()));
        let result = in_transaction(connection, &statements).await;
        repaired.push(describe(&finding, result));
    }
    let table = index_metadata::read_versions(connection).await?.table;
    if let Some(finding) = content_checks::find_missing_vector_index(connection, table).await? {
        begin(connection).await?;
        let result = VectorIndex::remove(connection, table).await;
        let result = end(connection, result).await;
        repaired.push(describe(&finding, result));
    }
    repaired.extend(run_statements(connection, &differences.findings, &differences.late_repairs).await?);
    Ok(repaired)
}

async fn run_statements(
    connection: &mut PgConnection,
    findings: &[Finding],
    repairs: &[(ProblemKind, String)],
) -> Result<Vec<String>, PostgresError> {
    let mut repaired = Vec::new();
    for (kind, statements) in repairs {
        let result = in_transaction(connection, statements).await;
        let finding = findings.iter().find(|finding| finding.kind == *kind);
        repaired.extend(finding.map(|finding| describe(finding, result)));
    }
    Ok(repaired)
}

/// Repairs the values that SQL cannot read. The keyword index and the vectors are then computed again, by the jobs
/// that the later repairs queue.
async fn repair_contents(connection: &mut PgConnection) -> Result<Vec<String>, PostgresError> {
    let mut repaired = Vec::new();
    for _ in 0..MAX_PASSES {
        let wrong = WrongContents::find(connection).await?;
        let mut is_complete = true;
        let serving = index_metadata::read_versions(connection).await?.table;
        for finding in wrong.findings().iter().filter(|finding| finding.repairable) {
            begin(connection).await?;
            let result = repair_kind(connection, finding.kind, &wrong, serving).await;
            let result = end(connection, result).await;
            is_complete &= result.is_err();
            repaired.push(describe(finding, result));
        }
        if is_complete {
            break;
        }
    }
    Ok(repaired)
}

async fn repair_kind(
    connection: &mut PgConnection,
    kind: ProblemKind,
    wrong: &WrongContents,
    serving: VectorTable,
) -> Result<(), PostgresError> {
    if kind == ProblemKind::TokenVectorsUnreadable {
        for (table, rows) in &wrong.tokens {
            let job = if *table == serving.name() { "embedding" } else { "reembedding" };
            let sql = format!(
                "WITH wrong AS (
                    UPDATE {table} v SET tokens = NULL FROM unnest($1::uuid[], $2::uuid[]) x (namespace, id)
                    WHERE v.namespace = x.namespace AND v.id = x.id RETURNING v.namespace, v.id
                 )
                 INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
                 SELECT w.namespace, $3, w.id, $4, $5, $6 FROM wrong w ON CONFLICT (namespace, job, id) DO NOTHING"
            );
            let (namespaces, ids) = keys(rows);
            sqlx::query(AssertSqlSafe(sql))
                .bind(namespaces)
                .bind(ids)
                .bind(job)
                .bind(Uuid::now_v7())
                .bind(memory_engine_sql::rows::LEASE_FREE)
                .bind(SystemClock.now().as_micros())
                .execute(&mut *connection)
                .await?;
        }
        return Ok(());
    }
    let Some(rows) = wrong.rows.get(&kind) else { return Ok(()) };
    if kind == ProblemKind::RecordHashWrong {
        return repair_hashes(connection, rows).await;
    }
    let (namespaces, ids) = keys(rows);
    let sql = "DELETE FROM keyword_documents k USING unnest($1::uuid[], $2::uuid[]) x (namespace, id)
               WHERE k.namespace = x.namespace AND k.id = x.id";
    sqlx::query(sql).bind(namespaces).bind(ids).execute(connection).await?;
    Ok(())
}

async fn repair_hashes(connection: &mut PgConnection, rows: &WrongRows) -> Result<(), PostgresError> {
    for (namespace, id) in &rows.keys {
        let text = sqlx::query_scalar("SELECT r.text FROM records r WHERE r.namespace = $1 AND r.id = $2")
            .bind(namespace)
            .bind(id);
        let Some(text): Option<String> = text.fetch_optional(&mut *connection).await? else { continue };
        let (hash, folded) = hash_and_folded_text(&text);
        sqlx::query("UPDATE records r SET content_hash = $3, folded = $4 WHERE r.namespace = $1 AND r.id = $2")
            .bind(namespace)
            .bind(id)
            .bind(hash.as_bytes().to_vec())
            .bind(folded)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

fn keys(rows: &WrongRows) -> (Vec<Uuid>, Vec<Uuid>) {
    rows.keys.iter().copied().unzip()
}

/// Runs statements in a transaction that blocks writes and migrations.
async fn in_transaction(connection: &mut PgConnection, statements: &str) -> Result<(), PostgresError> {
    begin(connection).await?;
    let result = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut *connection).await;
    end(connection, result.map(drop).map_err(PostgresError::from)).await
}

async fn begin(connection: &mut PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("BEGIN").execute(&mut *connection).await?;
    embedding_versions::lock_indexes_and_writes(connection).await
}

/// Commits the transaction, or rolls it back after an error.
async fn end(connection: &mut PgConnection, result: Result<(), PostgresError>) -> Result<(), PostgresError> {
    let sql = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    sqlx::raw_sql(sql).execute(connection).await?;
    result
}

fn describe(finding: &Finding, result: Result<(), PostgresError>) -> String {
    match result {
        Ok(()) => finding.repaired(),
        Err(error) => finding.not_repaired(&error.into_error("repair")),
    }
}
