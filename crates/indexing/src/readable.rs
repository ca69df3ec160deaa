//! Reads several records by id, of which some may be damaged.

use memory_engine_core::{DamagedRecord, Record, RecordId, RecordStore, Result, Scope};

/// Returns the records with these ids, in the same order, and the ids of those that cannot be read. A store fails for
/// all of them if one is damaged, so that they are then read one by one.
///
/// # Errors
/// The store's error, except for damaged records.
pub(crate) async fn get_readable(
    store: &dyn RecordStore,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<(Vec<Option<Record>>, Vec<RecordId>)> {
    match store.get(scope, ids).await {
        Err(error) if DamagedRecord::of(&error).is_some() => {}
        found => return Ok((found?, Vec::new())),
    }
    let mut found = Vec::with_capacity(ids.len());
    let mut damaged = Vec::new();
    for id in ids {
        let record = store.get(scope, &[*id]).await;
        if let Some(record) = record.as_ref().err().and_then(DamagedRecord::of) {
            record.warn();
            damaged.push(*id);
            found.push(None);
        } else {
            found.push(record?.pop().flatten());
        }
    }
    Ok((found, damaged))
}
