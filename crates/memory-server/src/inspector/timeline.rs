//! The timeline of a user or of a conversation: turns in order of time, with the records derived from each.

use std::collections::{BTreeMap, BTreeSet};

use axum::{Json, extract::State};
use memory_engine::{
    Cursor, Field, Filter, Kind, MemoryEngine, Op, Record, RecordId, ScanQuery, Scope, State as RecordState, Timestamp,
    Trust,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{query::Scoped, record::RecordView, state::InspectorState};
use crate::{
    fault::Fault,
    request::{check_limit, non_empty},
};

const MAX_LIMIT: usize = 200;
const DEFAULT_LIMIT: usize = 50;
/// Number of records that are read at a time, and maximum number of such reads, to find those that contain a text.
const TEXT_READ_ROWS: usize = 500;
const MAX_TEXT_READS: usize = 40;
/// The kinds of ledgers begin with `ledger/`: they are at least the first text and less than the second, because `0` is
/// the character after `/`.
const LEDGER_KINDS: [&str; 2] = ["ledger/", "ledger0"];

/// The parameters of a page of the timeline.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TimelineParams {
    /// `newest` or `oldest` first. Default: `newest`.
    order: TimelineOrder,
    /// The `next_cursor` of a page. With the `first_cursor` and the other order, the page before it is returned.
    cursor: String,
    /// The time at which the page begins: RFC 3339, or a date, which is 00:00 in the engine's time zone. With `newest`,
    /// records before this time follow. Not with a cursor.
    from: String,
    /// The timeline as it was at this time: RFC 3339, or a date, which is 00:00 in the engine's time zone. Default: as
    /// it is.
    as_of: String,
    /// Only records of this kind, such as `turn` or `fact`. Default: all that were not derived from others, without the
    /// records that an application keeps for itself.
    kind: String,
    /// Only records in this scene.
    scene: String,
    /// Only records with this tag.
    tag: String,
    /// Only records at this time or later, in the form of `from`.
    since: String,
    /// Only records before this time, in the form of `from`.
    until: String,
    /// Only records whose text contains this one. Case does not matter. A page may then have fewer entries than `limit`
    /// although others follow.
    text: String,
    /// False to leave out retracted and superseded records. Default: true.
    inactive: Option<bool>,
    /// Maximum number of entries, from 1 to 200. Default: 50.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TimelineOrder {
    #[default]
    Newest,
    Oldest,
}

/// A page of the timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TimelinePage {
    /// The records in the requested order: those of `kind`, or those that were not derived from others.
    entries: Vec<Entry>,
    /// The records that were derived from them, each once, oldest first.
    derived: Vec<RecordView>,
    /// The position of the first entry.
    first_cursor: Option<String>,
    /// Pass it as `cursor` for the next page. Null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    #[serde(flatten)]
    record: RecordView,
    /// The ids of the records that were derived directly from this one.
    #[schemars(with = "Vec<String>")]
    derived: Vec<RecordId>,
}

pub(super) async fn show_timeline(
    State(state): State<InspectorState>,
    scoped: Scoped<TimelineParams>,
) -> Result<Json<TimelinePage>, Fault> {
    let Scoped { scope, params, .. } = scoped;
    let engine = &state.engine;
    let as_of = params.time(&params.as_of, engine)?;
    let query = params.query(engine)?;
    engine.audit().log_export(&scope, "inspector.timeline").await?;
    let (records, next) = read_records(engine, &scope, query, &params.text, as_of).await?;
    let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
    let mut derived = derived_records(engine, &scope, &ids, as_of).await?;
    if params.hides_inactive() {
        derived.retain(is_current);
    }
    let by_source = group_by_source(&ids, &derived);
    let first_cursor = records.first().map(|record| Cursor::at(record).to_string());
    let entries = records.iter().map(|record| Entry {
        record: RecordView::of(record),
        derived: by_source.get(&record.id).cloned().unwrap_or_default(),
    });
    let is_direct = |record: &&Record| by_source.values().any(|ids| ids.contains(&record.id));
    Ok(Json(TimelinePage {
        entries: entries.collect(),
        derived: derived.iter().filter(is_direct).map(RecordView::of).collect(),
        first_cursor,
        next_cursor: next.map(|cursor| cursor.to_string()),
    }))
}

/// Returns the records of a page whose text contains `text`, and the position after which others follow. No store can
/// compare parts of a text, so that the records of the scope are read for them, up to a maximum for each page.
async fn read_records(
    engine: &MemoryEngine,
    scope: &Scope,
    mut query: ScanQuery,
    text: &str,
    as_of: Option<Timestamp>,
) -> Result<(Vec<Record>, Option<Cursor>), Fault> {
    let text = text.trim().to_lowercase();
    let limit = query.limit;
    let reads = if text.is_empty() { 1 } else { MAX_TEXT_READS };
    if reads > 1 {
        query.limit = TEXT_READ_ROWS;
    }
    let mut found: Vec<Record> = Vec::new();
    for _ in 0..reads {
        let page = match as_of {
            Some(time) => engine.history().as_of(time).scan(scope, &query).await?,
            None => engine.history().timeline(scope, &query).await?,
        };
        query.after = page.next;
        found.extend(page.records.into_iter().filter(|record| record.text.to_lowercase().contains(&text)));
        if found.len() > limit || query.after.is_none() {
            break;
        }
    }
    if found.len() > limit {
        found.truncate(limit);
        query.after = found.last().map(Cursor::at);
    }
    Ok((found, query.after))
}

/// Returns the records that were derived from these, at any address of the user, without chunks and ledgers.
async fn derived_records(
    engine: &MemoryEngine,
    scope: &Scope,
    ids: &[RecordId],
    as_of: Option<Timestamp>,
) -> Result<Vec<Record>, Fault> {
    let user = scope.namespace();
    let mut derived = engine.history().derived(&user, ids).await?;
    derived.retain(|record| record.kind != Kind::CHUNK && !record.kind.is_ledger());
    if let Some(time) = as_of {
        let ids: Vec<RecordId> = derived.iter().map(|record| record.id).collect();
        derived = engine.history().as_of(time).get_all(&user, &ids).await?.into_iter().flatten().collect();
    }
    derived.sort_by_key(Record::position);
    Ok(derived)
}

/// Returns the ids of the records that name each of these as their source.
fn group_by_source(sources: &[RecordId], derived: &[Record]) -> BTreeMap<RecordId, Vec<RecordId>> {
    let sources: BTreeSet<RecordId> = sources.iter().copied().collect();
    let mut by_source: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
    for record in derived {
        let named: BTreeSet<RecordId> = record.derived_from.iter().copied().collect();
        for source in named.intersection(&sources) {
            by_source.entry(*source).or_default().push(record.id);
        }
    }
    by_source
}

fn is_current(record: &Record) -> bool {
    matches!(record.state, RecordState::Active | RecordState::Pending)
}

impl TimelineParams {
    fn query(&self, engine: &MemoryEngine) -> Result<ScanQuery, Fault> {
        let limit = check_limit(self.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
        let mut query = match self.order {
            TimelineOrder::Newest => ScanQuery::newest(limit),
            TimelineOrder::Oldest => ScanQuery::oldest(limit),
        };
        query.after = self.start(engine)?;
        Ok(query.with_filter(self.filter(engine)?))
    }

    /// Returns the position after which the page begins.
    fn start(&self, engine: &MemoryEngine) -> Result<Option<Cursor>, Fault> {
        let from = self.time(&self.from, engine)?;
        let cursor = self.cursor.trim();
        match (cursor.is_empty(), from) {
            (true, None) => Ok(None),
            (true, Some(time)) => Ok(Some(position_before(time, self.order))),
            (false, None) => Ok(Some(cursor.parse()?)),
            (false, Some(_)) => Err(Fault::bad_request("send either cursor or from, not both")),
        }
    }

    fn filter(&self, engine: &MemoryEngine) -> Result<Filter, Fault> {
        let kind = self.kind.trim();
        let mut filter = if kind.is_empty() {
            let [first, end] = LEDGER_KINDS;
            let is_ledger = Filter::compare(Field::Kind, Op::Ge, first).and(Filter::compare(Field::Kind, Op::Lt, end));
            Filter::ne(Field::Trust, Trust::Derived.as_str())
                .and(Filter::ne(Field::Kind, Kind::CHUNK.as_str()))
                .and(Filter::Not(Box::new(is_ledger)))
        } else {
            Filter::eq(Field::Kind, kind)
        };
        for (field, value) in [(Field::Scene, &self.scene), (Field::Tags, &self.tag)] {
            if let Some(value) = non_empty(value) {
                filter = filter.and(Filter::eq(field, value));
            }
        }
        for (op, time) in [(Op::Ge, &self.since), (Op::Lt, &self.until)] {
            if let Some(time) = self.time(time, engine)? {
                filter = filter.and(Filter::compare(Field::OccurredAt, op, time));
            }
        }
        if self.hides_inactive() {
            let current = [RecordState::Active, RecordState::Pending];
            filter = filter.and(Filter::In(Field::State, current.map(|state| state.as_str().into()).to_vec()));
        }
        Ok(filter)
    }

    fn hides_inactive(&self) -> bool {
        self.inactive == Some(false)
    }

    /// Parses a time. A time without an offset is in the time zone of the engine. An empty one counts as missing.
    fn time(&self, text: &str, engine: &MemoryEngine) -> Result<Option<Timestamp>, Fault> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(Timestamp::parse_in(text, engine.settings().zone())?))
    }
}

/// Returns the position before the records that occurred at this time, in the order of the page.
fn position_before(time: Timestamp, order: TimelineOrder) -> Cursor {
    match order {
        TimelineOrder::Newest => {
            Cursor { occurred_at: time, sequence: i64::MAX, id: RecordId::from_bytes([u8::MAX; 16]) }
        }
        TimelineOrder::Oldest => {
            Cursor { occurred_at: time, sequence: i64::MIN, id: RecordId::from_bytes([u8::MIN; 16]) }
        }
    }
}
