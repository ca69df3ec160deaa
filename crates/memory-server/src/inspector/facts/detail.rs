//! One fact, with its history and its sources.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
};
use memory_engine::{
    Field, Filter, Kind, MemoryEngine, Record, RecordId, ScanQuery, Scope, State as RecordState, Timestamp,
    enrichment::fact_keys,
    facts::{Fact, contradict},
    history::{Edit, FormerState},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::row::{FactRow, merged_into};
use crate::{
    fault::Fault,
    inspector::{evidence::EvidenceRecord, query::Scoped, state::InspectorState},
};

/// Maximum number of facts of the same subject and attribute.
const MAX_RELATED: usize = 200;
/// Maximum number of sources.
const MAX_SOURCES: usize = 100;

/// A fact with its history, sources and contradictions.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::inspector) struct FactDetail {
    fact: FactRow,
    /// The facts of the same subject and attribute in any state, this one included, oldest first, at most the newest
    /// 200. Facts that repeat another one are left out.
    attribute_facts: Vec<FactRow>,
    /// The newer fact that superseded it.
    superseded_by: Option<FactRow>,
    /// The states of the fact, oldest first. The last one is the present state.
    states: Vec<StateSpan>,
    /// The former texts, oldest first.
    former_texts: Vec<FormerText>,
    /// The records that it was derived from.
    sources: Vec<FactSource>,
    /// The facts that repeat it.
    repeats: Vec<FactRow>,
    /// The current or pending facts that contradict it.
    contradictions: Vec<FactRow>,
}

/// A state and validity that the record of a fact had for some time.
#[derive(Debug, Serialize, JsonSchema)]
struct StateSpan {
    /// The state of the record: active, pending, superseded, revoked or deleted.
    #[schemars(with = "String")]
    state: RecordState,
    since: String,
    /// Null for the present state.
    until: Option<String>,
    /// The end of the validity, as it was known then.
    valid_until: Option<String>,
}

/// A text that a fact had before it was edited.
#[derive(Debug, Serialize, JsonSchema)]
struct FormerText {
    text: String,
    /// The time of the edit.
    until: String,
}

/// A record that states a fact.
#[derive(Debug, Serialize, JsonSchema)]
struct FactSource {
    #[schemars(with = "String")]
    id: RecordId,
    /// The words that state the fact.
    quote: String,
    /// Null if the record has expired.
    record: Option<EvidenceRecord>,
}

pub(in crate::inspector) async fn show_fact(
    State(state): State<InspectorState>,
    Path(id): Path<String>,
    Scoped { scope, .. }: Scoped,
) -> Result<Json<FactDetail>, Fault> {
    let engine = &state.engine;
    let now = engine.settings().clock().now();
    let record = read_fact(engine, &scope, &id).await?;
    let user = record.scope.namespace();
    let mut related = read_related(engine, &user, &record).await?;
    if !related.iter().any(|fact| fact.id == record.id) {
        // Only the newest facts are read, and this one may be older.
        related.push(record.clone());
    }
    related.sort_by_key(Record::position);
    let to_row = |fact: &Record| FactRow::clipped(fact, now);
    let repeats = related.iter().filter(|fact| merged_into(fact) == Some(record.id)).map(to_row).collect();
    let contradicts = |fact: &&Record| {
        let row = FactRow::clipped(fact, now);
        row.state.is_open() && contradict(&record, fact)
    };
    let mut fact = FactRow::new(&record, now);
    let contradictions: Vec<FactRow> = match fact.state.is_open() {
        true => related.iter().filter(contradicts).map(to_row).collect(),
        false => Vec::new(),
    };
    fact.contradictions = contradictions.len();
    let superseded_by = match fact.superseded_by {
        Some(newer) => engine.get(&user, newer).await?.as_ref().map(to_row),
        None => None,
    };
    let former_texts = Edit::all_of(&record).into_iter();
    let former_texts = former_texts.map(|edit| FormerText { text: edit.text, until: edit.until.to_string() });
    let attribute_facts = related.iter().filter(|fact| merged_into(fact).is_none() || fact.id == record.id);
    Ok(Json(FactDetail {
        attribute_facts: attribute_facts.map(to_row).collect(),
        superseded_by,
        states: states_of(&record),
        former_texts: former_texts.collect(),
        sources: read_sources(engine, &user, &record).await?,
        repeats,
        contradictions,
        fact,
    }))
}

async fn read_fact(engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Record, Fault> {
    let id: RecordId = id.parse()?;
    let missing = || Fault::not_found(format!("this owner has no fact {id}; GET /api/inspector/facts lists them"));
    let record = engine.get(scope, id).await?.ok_or_else(missing)?;
    if record.kind != Kind::FACT {
        return Err(Fault::not_found(format!("record {id} is a {}, not a fact", record.kind)));
    }
    Ok(record)
}

/// Returns the newest facts of the same user, subject and attribute.
async fn read_related(engine: &MemoryEngine, user: &Scope, record: &Record) -> Result<Vec<Record>, Fault> {
    let Fact { subject, attribute, .. } = Fact::from_record(record);
    let filter = Filter::eq(Field::Kind, Kind::FACT.as_str())
        .and(Filter::eq(Field::meta(fact_keys::SUBJECT), subject.as_str()))
        .and(Filter::eq(Field::meta(fact_keys::SLOT), attribute.as_str()));
    let page = engine.scan(user, &ScanQuery::newest(MAX_RELATED).with_filter(filter)).await?;
    // The namespace of a record without a user covers all users of the tenant.
    Ok(page.records.into_iter().filter(|fact| fact.scope.namespace() == *user).collect())
}

async fn read_sources(engine: &MemoryEngine, user: &Scope, record: &Record) -> Result<Vec<FactSource>, Fault> {
    let mut evidence = Fact::from_record(record).evidence;
    evidence.truncate(MAX_SOURCES);
    let ids: Vec<RecordId> = evidence.iter().map(|evidence| evidence.record).collect();
    let records = engine.get_all(user, &ids).await?.into_iter().flatten();
    let mut records: BTreeMap<RecordId, EvidenceRecord> =
        records.map(|record| (record.id, EvidenceRecord::from(record))).collect();
    let sources = evidence.into_iter().map(|evidence| FactSource {
        id: evidence.record,
        quote: evidence.quote,
        record: records.remove(&evidence.record),
    });
    Ok(sources.collect())
}

fn states_of(record: &Record) -> Vec<StateSpan> {
    let text = |time: Timestamp| time.to_string();
    let former = FormerState::all_of(record);
    let since = former.last().map_or(record.recorded_at, |last| last.until);
    let mut spans: Vec<StateSpan> = former
        .into_iter()
        .map(|former| StateSpan {
            state: former.state,
            since: text(former.since),
            until: Some(text(former.until)),
            valid_until: former.valid_until.map(text),
        })
        .collect();
    let valid_until = record.valid_until.map(text);
    spans.push(StateSpan { state: record.state, since: text(since), until: None, valid_until });
    spans
}
