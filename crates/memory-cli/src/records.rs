//! Finds records by the ids that people type, and reads many records page by page.

use anyhow::{Result, bail};
use futures::TryStreamExt;
use memory_engine::{DamagedRecord, Field, Filter, MemoryEngine, Record, RecordId, ScanQuery, Scope, admin};

use crate::args::DatabaseArgs;

/// Number of records of one page.
pub(crate) const PAGE_RECORDS: usize = 1000;

/// Returns the records within a scope with this id: a record's own id, or the id of a message in an imported file.
///
/// A message id can occur in several conversations. At most [`PAGE_RECORDS`] of them are returned.
pub(crate) async fn find(engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Vec<Record>> {
    if let Ok(id) = id.parse() {
        return Ok(engine.get(scope, id).await?.into_iter().collect());
    }
    let by_message = ScanQuery::oldest(PAGE_RECORDS).with_filter(Filter::eq(Field::MessageId, id));
    Ok(engine.scan(scope, &by_message).await?.records)
}

/// Returns the ids of the records that [`find`] returns, and of those that cannot be read: they can be deleted.
async fn find_ids(engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Vec<RecordId>> {
    let Ok(id) = id.parse() else {
        let by_message = ScanQuery::oldest(PAGE_RECORDS).with_filter(Filter::eq(Field::MessageId, id));
        let page = engine.scan(scope, &by_message).await?;
        let damaged = page.damaged.iter().map(|record| record.id);
        return Ok(page.records.iter().map(|record| record.id).chain(damaged).collect());
    };
    match engine.get(scope, id).await {
        Err(error) if DamagedRecord::of(&error).is_some() => Ok(vec![id]),
        record => Ok(record?.map(|record| record.id).into_iter().collect()),
    }
}

/// Returns the ids of all records that `ids` name.
///
/// # Errors
/// If an id is unknown; the message ends with `outcome`, such as `nothing was forgotten`.
pub(crate) async fn resolve(
    engine: &MemoryEngine,
    scope: &Scope,
    ids: &[String],
    outcome: &str,
) -> Result<Vec<RecordId>> {
    let mut resolved = Vec::new();
    let mut unknown = Vec::new();
    for id in ids {
        let ids = find_ids(engine, scope, id).await?;
        if ids.is_empty() {
            unknown.push(id.as_str());
        }
        resolved.extend(ids);
    }
    if !unknown.is_empty() {
        bail!("{} not within {scope}; {outcome}", unknown.join(", "));
    }
    Ok(resolved)
}

/// As [`resolve`], but an unknown id is no error if it has the form of an id: the record may be deleted already.
///
/// # Errors
/// If a text is neither a known id nor has the form of one; the message ends with `outcome`.
pub(crate) async fn resolve_or_parse(
    engine: &MemoryEngine,
    scope: &Scope,
    ids: &[String],
    outcome: &str,
) -> Result<Vec<RecordId>> {
    let mut resolved = Vec::new();
    for id in ids {
        let ids = find_ids(engine, scope, id).await?;
        match id.parse() {
            Ok(id) if ids.is_empty() => resolved.push(id),
            _ if ids.is_empty() => bail!("{id} not within {scope}; {outcome}"),
            _ => resolved.extend(ids),
        }
    }
    Ok(resolved)
}

/// Maximum number of users that a hint names.
const MAX_NAMED_USERS: usize = 5;

/// Prints on standard error if the user of a scope has no records, and names the users that have some.
pub(crate) async fn report_missing_user(engine: &MemoryEngine, database: &DatabaseArgs, scope: &Scope) -> Result<()> {
    if engine.stats(&scope.namespace()).await?.records > 0 {
        return Ok(());
    }
    let database = database.database()?;
    let tenant = scope.tenant();
    let mut users = Vec::new();
    for known in admin::namespaces(&database).await?.iter().filter(|known| known.tenant() == tenant) {
        // A user whose records were forgotten still has tombstones.
        if let Some(user) = known.user_name()
            && engine.stats(known).await?.records > 0
        {
            if users.len() == MAX_NAMED_USERS {
                users.push("…".to_owned());
                break;
            }
            users.push(user.to_owned());
        }
    }
    match scope.user_name() {
        Some(user) if !users.is_empty() => {
            report_line!("{database} has no records of user {user}; it has records of {}", users.join(", "));
        }
        _ => report_line!("{database} has no records of tenant {tenant}; `memory add TEXT --user NAME` stores one"),
    }
    Ok(())
}

/// Fails if no record is at the scope itself although some are within it: then the scope lacks an agent or a branch.
pub(crate) async fn require_records_at(engine: &MemoryEngine, scope: &Scope) -> Result<()> {
    let mut records = engine.records(scope).newest_first().page_rows(PAGE_RECORDS).stream();
    let mut newest = None;
    while let Some(record) = records.try_next().await? {
        if record.scope == *scope {
            return Ok(());
        }
        newest.get_or_insert(record.scope);
    }
    let Some(address) = newest else { return Ok(()) };
    bail!("no records at {scope} itself; the newest within it is at {address}, so add its --agent or --branch");
}
