//! The turns that a client replaces when it edits its history or requests another reply.

use std::{collections::BTreeSet, time::Duration};

use memory_engine::{Field, Filter, MemoryEngine, Op, Record, RecordId, Result, Role, ScanQuery, Scope, Timestamp};

use super::{
    sessions::{active_turns, metadata_text},
    thread::{EditedFirst, Exchange, TurnKey, exchange_key},
    turn::{FOLLOWS, TURN_KEY, record_ids},
};

/// Maximum number of records of a session that are searched. A turn has up to two.
const MAX_SCANNED_RECORDS: usize = 1000;
/// Maximum age of turns that a repeated first message replaces. After a longer time it begins a new conversation in the
/// same session, and the earlier turns are memories.
const FIRST_TURN_WINDOW: Duration = Duration::from_secs(3600);

/// Returns the latest active turns of a session.
pub(super) async fn read_turns(engine: &MemoryEngine, address: &Scope) -> Result<Vec<Record>> {
    scan_turns(engine, address, None).await
}

/// Returns the records that the turn of a request replaces: the reply that it regenerates, and the turns that no longer
/// belong to the history of the client. `last_key` is the key of the latest turn of the session.
pub(super) async fn replaced_by_request(
    engine: &MemoryEngine,
    address: &Scope,
    key: &TurnKey,
    last_key: Option<&str>,
    now: Timestamp,
) -> Result<BTreeSet<RecordId>> {
    let [_, reply_id] = record_ids(address, &key.key);
    let mut replaced = BTreeSet::from([reply_id]);
    if let Some(EditedFirst { chat, turn, text }) = &key.edited {
        // The reply stays if the chat goes on.
        replaced.extend(record_ids(chat, turn).into_iter().take(if text.is_some() { 1 } else { 2 }));
    }
    let follows_latest = last_key.is_some() && last_key == key.parent.as_deref();
    let repeats_latest = key.follows.is_some() && last_key == Some(key.key.as_str());
    if follows_latest || repeats_latest {
        return Ok(replaced);
    }
    let since = key.follows.is_none().then(|| now.before(FIRST_TURN_WINDOW));
    let turns = scan_turns(engine, address, since).await?;
    let of_chat = turns.iter().filter(|record| turn_of(record).is_some());
    let (own, others): (Vec<&Record>, Vec<&Record>) =
        of_chat.partition(|record| turn_of(record) == Some(key.key.as_str()));
    if key.follows.is_none() {
        // Nothing but its own text identifies a first message. The later turns may follow a reply that was replaced
        // since, so all of them are replaced.
        if !own.is_empty() {
            replaced.extend(others.iter().map(|record| record.id));
        }
        return Ok(replaced);
    }
    let own_exchange = Some(&own).filter(|own| !own.is_empty()).map(|own| exchange_key(&exchange_of(own)));
    replaced.extend(replaced_records(&turns, key, own_exchange));
    Ok(replaced)
}

/// Returns the records of the turns that follow an exchange in the history of `key` or `former_exchange`, without being
/// in this history themselves, and of all turns after them.
pub(super) fn replaced_records(records: &[Record], key: &TurnKey, former_exchange: Option<String>) -> Vec<RecordId> {
    let history = key.history.iter();
    let kept: BTreeSet<&str> = history.clone().map(|turn| turn.key.as_str()).chain([key.key.as_str()]).collect();
    let mut exchanges: BTreeSet<String> = history.map(|turn| turn.exchange.clone()).collect();
    exchanges.extend(former_exchange.into_iter().chain(key.follows.clone()));
    let mut turns: BTreeSet<&str> = BTreeSet::new();
    let mut replaced: Vec<RecordId> = Vec::new();
    loop {
        let followers: BTreeSet<&str> = records
            .iter()
            .filter(|record| metadata_text(record, FOLLOWS).is_some_and(|follows| exchanges.contains(follows)))
            .filter_map(turn_of)
            .filter(|turn| !kept.contains(turn) && !turns.contains(turn))
            .collect();
        if followers.is_empty() {
            return replaced;
        }
        for turn in followers {
            let of_turn: Vec<&Record> = records.iter().filter(|record| turn_of(record) == Some(turn)).collect();
            exchanges.insert(exchange_key(&exchange_of(&of_turn)));
            replaced.extend(of_turn.iter().map(|record| record.id));
            turns.insert(turn);
        }
    }
}

async fn scan_turns(engine: &MemoryEngine, address: &Scope, since: Option<Timestamp>) -> Result<Vec<Record>> {
    let mut filter = active_turns();
    if let Some(since) = since {
        filter = filter.and(Filter::compare(Field::OccurredAt, Op::Ge, since));
    }
    let query = ScanQuery::newest(MAX_SCANNED_RECORDS).with_filter(filter);
    Ok(engine.scan(address, &query).await?.records)
}

/// Returns the exchange in the records of a turn.
fn exchange_of(records: &[&Record]) -> Exchange {
    Exchange { user: text_of(records, &Role::USER), assistant: text_of(records, &Role::ASSISTANT) }
}

fn turn_of(record: &Record) -> Option<&str> {
    metadata_text(record, TURN_KEY)
}

/// Returns the text of the first record with this role.
fn text_of(records: &[&Record], role: &Role) -> String {
    let record = records.iter().find(|record| record.role.as_ref() == Some(role));
    record.map(|record| record.text.clone()).unwrap_or_default()
}
