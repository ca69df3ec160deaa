//! The companions of a user: affection over time, stages and key moments, read from the records that
//! [`memory_engine_companion`] stores.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use futures::TryStreamExt;
use memory_engine::{Field, Filter, Kind, MemoryEngine, Op, Record, RecordId, ScanQuery, Scope, Timestamp};
use memory_engine_companion::{AFFECTION_LOG, AffectionChange, COMPANION_STATE, CompanionState, StageThreshold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    companion_view::{ChangeView, CompanionView, DayView, MomentView, StageView},
    query::Scoped,
    record::RecordView,
    state::InspectorState,
};
use crate::fault::Fault;

/// Maximum number of companions in an answer.
const MAX_COMPANIONS: usize = 100;
/// Maximum number of entries of the log that are read. The newest are kept.
const MAX_LOG_ENTRIES: usize = 20_000;
/// Number of records that are read at a time.
const PAGE_ROWS: usize = 1000;
/// Maximum number of changes other than those of messages in an answer. The newest are kept.
const MAX_CHANGES: usize = 200;
/// Maximum number of key moments and of summaries in an answer. The newest are kept.
const MAX_MOMENTS: usize = 200;
const MAX_SUMMARIES: usize = 20;

/// The parameters of the view.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CompanionParams {
    /// The id of a companion in `companions`. Default: the one that was active last.
    id: String,
}

/// The companions of a user.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompanionReport {
    /// The companions, the one that was active last first, at most 100.
    companions: Vec<CompanionView>,
    /// The chosen companion. Null if there is none.
    selected: Option<CompanionDetails>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CompanionDetails {
    #[schemars(with = "String")]
    id: RecordId,
    /// The stages in order. Empty if the companion has not stored them; it does so with the next message.
    stages: Vec<StageView>,
    /// The days on which affection changed, oldest first.
    days: Vec<DayView>,
    /// The changes other than those of messages, newest first, at most 200.
    changes: Vec<ChangeView>,
    /// False if the log has older entries, which were not read.
    is_complete: bool,
    /// Key moments, newest first, at most 200.
    moments: Vec<MomentView>,
    /// Names of key moments that happened, whose messages were deleted.
    deleted_moments: Vec<String>,
    /// The latest profile of the user.
    profile: Option<RecordView>,
    /// The latest summaries, newest first, at most 20.
    summaries: Vec<RecordView>,
}

/// The record of a companion's state, and the state.
type StoredCompanion = (Record, CompanionState);

pub(super) async fn show_companion(
    State(state): State<InspectorState>,
    scoped: Scoped<CompanionParams>,
) -> Result<Json<CompanionReport>, Fault> {
    let engine = &state.engine;
    engine.audit().log_export(&scoped.scope, "inspector.companion").await?;
    let companions = companions(engine, &scoped.scope).await?;
    let id = scoped.params.id.trim();
    let selected = if id.is_empty() {
        companions.first()
    } else {
        let id: RecordId = id.parse().map_err(|_| Fault::bad_request("id must be the id of a companion, a UUID"))?;
        let found = companions.iter().find(|(record, _)| record.id == id);
        let missing = || Fault::not_found(format!("there is no companion {id} here; companions lists those there are"));
        Some(found.ok_or_else(missing)?)
    };
    let selected = match selected {
        Some(companion) => Some(details(engine, companion).await?),
        None => None,
    };
    let companions = companions.iter().map(|(record, state)| CompanionView::of(record, state)).collect();
    Ok(Json(CompanionReport { companions, selected }))
}

/// Returns the companions within a scope, the one that was active last first.
async fn companions(engine: &MemoryEngine, scope: &Scope) -> Result<Vec<StoredCompanion>, Fault> {
    let groups = engine.admin().record_groups(scope).await?;
    let mut places: Vec<_> = groups.into_iter().filter(|group| group.kind.as_str() == COMPANION_STATE).collect();
    places.sort_by_key(|group| std::cmp::Reverse(group.newest));
    places.truncate(MAX_COMPANIONS);
    let mut companions = Vec::new();
    for place in places {
        // The times limit the number of records that the store reads.
        let filter = at_exactly(&place.scope, COMPANION_STATE)
            .and(Filter::compare(Field::OccurredAt, Op::Ge, place.oldest))
            .and(Filter::compare(Field::OccurredAt, Op::Le, place.newest));
        let page = engine.scan(&place.scope, &ScanQuery::newest(MAX_COMPANIONS).with_filter(filter)).await?;
        for record in page.records {
            let state = CompanionState::of(&record)?;
            companions.push((record, state));
        }
    }
    companions.sort_by_key(|(record, state)| std::cmp::Reverse(state.last_active_at.unwrap_or(record.occurred_at)));
    Ok(companions)
}

async fn details(engine: &MemoryEngine, (record, state): &StoredCompanion) -> Result<CompanionDetails, Fault> {
    let log = read_log(engine, &record.scope).await?;
    let is_complete = log.len() < MAX_LOG_ENTRIES;
    let changes = in_order_of_effect(log);
    let moments = newest(engine, &record.scope, Kind::KEY_MOMENT.as_str(), MAX_MOMENTS).await?;
    let summaries = newest(engine, &record.scope, Kind::SUMMARY.as_str(), MAX_SUMMARIES).await?;
    let profile = match state.profile {
        Some(id) => engine.get(&record.scope, id).await?,
        None => None,
    };
    let stored: Vec<&str> = moments.iter().filter_map(|moment| moment.source.message_id.as_deref()).collect();
    let is_gone = |name: &&String| moments.len() < MAX_MOMENTS && !stored.contains(&name.as_str());
    let others = changes.iter().rev().filter(|(_, change)| !ChangeView::is_message(change));
    Ok(CompanionDetails {
        id: record.id,
        stages: StageView::all_of(&StageThreshold::all_of(record), state.bond.affection),
        days: DayView::all_of(&changes),
        changes: others.take(MAX_CHANGES).map(|(time, change)| ChangeView::of(*time, change)).collect(),
        is_complete,
        moments: moments.iter().map(MomentView::of).collect(),
        deleted_moments: state.moments.keys().filter(is_gone).cloned().collect(),
        profile: profile.as_ref().map(RecordView::of),
        summaries: summaries.iter().map(RecordView::of).collect(),
    })
}

/// Returns the entries of the log of affection, newest first.
async fn read_log(engine: &MemoryEngine, scope: &Scope) -> Result<Vec<Record>, Fault> {
    let query = engine.records(scope).filter(at_exactly(scope, AFFECTION_LOG)).newest_first().page_rows(PAGE_ROWS);
    let mut entries = query.stream();
    let mut log = Vec::new();
    while log.len() < MAX_LOG_ENTRIES {
        match entries.try_next().await? {
            Some(entry) => log.push(entry),
            None => break,
        }
    }
    Ok(log)
}

/// Returns the changes in the order in which they took effect. Those of one time are ordered so that each begins where
/// the one before it ends. Entries that cannot be read are left out.
fn in_order_of_effect(log: Vec<Record>) -> Vec<(Timestamp, AffectionChange)> {
    let mut by_time: BTreeMap<Timestamp, Vec<AffectionChange>> = BTreeMap::new();
    for entry in log {
        if let Ok(change) = AffectionChange::of(&entry) {
            by_time.entry(entry.occurred_at).or_default().push(change);
        }
    }
    let mut ordered = Vec::new();
    let mut affection = None;
    for (time, mut changes) in by_time {
        changes.sort_by_key(|change| change.day);
        while !changes.is_empty() {
            let change = changes.remove(position_of_next(&changes, affection));
            affection = Some(change.after);
            ordered.push((time, change));
        }
    }
    ordered
}

/// Returns the position of the change that continues at this affection; otherwise of one that continues no other.
fn position_of_next(changes: &[AffectionChange], affection: Option<i32>) -> usize {
    let continues = |change: &AffectionChange| Some(change.before) == affection;
    let is_first = |change: &AffectionChange| !changes.iter().any(|other| other.after == change.before);
    changes.iter().position(continues).or_else(|| changes.iter().position(is_first)).unwrap_or_default()
}

/// Returns the newest records of a kind at exactly this address.
async fn newest(engine: &MemoryEngine, scope: &Scope, kind: &str, limit: usize) -> Result<Vec<Record>, Fault> {
    let query = ScanQuery::newest(limit).with_filter(at_exactly(scope, kind));
    Ok(engine.scan(scope, &query).await?.records)
}

/// Returns a filter for the records of a kind at exactly this address, and not at those below it.
fn at_exactly(scope: &Scope, kind: &str) -> Filter {
    let levels = [(Field::Agent, scope.agent()), (Field::Session, scope.session()), (Field::Branch, scope.branch())];
    let unset = levels.into_iter().filter(|(_, name)| name.is_none());
    let unset = unset.map(|(field, _)| Filter::Not(Box::new(Filter::Exists(field))));
    unset.fold(Filter::eq(Field::Kind, kind), Filter::and)
}
