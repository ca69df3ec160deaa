//! The list of facts.

use std::cmp::Ordering;

use axum::{Json, extract::State};
use memory_engine::{
    Field, Filter, Kind, MemoryEngine, Record, RecordId, ScanQuery, Scope, Timestamp,
    facts::{FactKind, contradict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{FactRow, FactState, merged_into};
use crate::{
    fault::Fault,
    inspector::{query::Scoped, state::InspectorState},
    request::{check_limit, non_empty},
};

const MAX_LIMIT: usize = 500;
const DEFAULT_LIMIT: usize = 100;
/// Maximum number of facts that are read for a list.
const MAX_FACTS: usize = 20_000;
/// Number of facts read at a time.
const PAGE_ROWS: usize = 1000;
/// Maximum number of open facts of one subject and attribute that are compared with each other.
const MAX_COMPARED: usize = 100;

/// The parameters of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::inspector) struct ListParams {
    /// Only facts whose sentence, subject, attribute or value contains this text. Case does not matter.
    text: String,
    /// Only facts about this subject: `user` or a name.
    subject: String,
    /// Only facts of this attribute.
    attribute: String,
    /// Only facts of this kind: fact, preference or state.
    kind: String,
    /// Only facts in this state: current, pending, ended, retired or all. Default: current.
    state: String,
    /// Only facts that another current or pending fact contradicts. Default: false.
    contradicting: bool,
    /// Maximum number of facts, from 1 to 500. Default: 100.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
    /// The `next_cursor` of the previous page.
    cursor: String,
}

/// A page of facts.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::inspector) struct FactPage {
    /// The facts, ordered by subject (the user first) and attribute, newest first.
    facts: Vec<FactRow>,
    /// Pass it as `cursor` for the next page. Null on the last page.
    next_cursor: Option<String>,
    /// Number of matching facts on all pages.
    total: usize,
    /// Numbers of facts by state, regardless of the parameters.
    counts: FactCounts,
    /// True if there are more than 20000 facts, of which the newest are read.
    is_truncated: bool,
}

/// Numbers of facts by state.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct FactCounts {
    current: usize,
    pending: usize,
    ended: usize,
    retired: usize,
    /// Current or pending facts that another one contradicts.
    contradicting: usize,
}

/// The checked parameters of a list.
#[derive(Debug)]
struct Selection {
    text: String,
    subject: Option<String>,
    attribute: Option<String>,
    kind: Option<FactKind>,
    /// `None` for all states.
    state: Option<FactState>,
    contradicting: bool,
    limit: usize,
    cursor: Option<RecordId>,
}

pub(in crate::inspector) async fn list_facts(
    State(state): State<InspectorState>,
    Scoped { scope, params, .. }: Scoped<ListParams>,
) -> Result<Json<FactPage>, Fault> {
    let selection = Selection::new(params)?;
    let now = state.engine.settings().clock().now();
    state.engine.audit().log_export(&scope, "inspector.facts").await?;
    let last_shown = match selection.cursor {
        Some(id) => Some(read_last_shown(&state.engine, &scope, id, now).await?),
        None => None,
    };
    let (records, is_truncated) = read_facts(&state.engine, &scope).await?;
    let with_row = |record: Record| (FactRow::clipped(&record, now), record);
    let mut facts: Vec<(FactRow, Record)> = records.into_iter().map(with_row).collect();
    facts.sort_by(|(a, _), (b, _)| a.cmp_in_list(b));
    count_contradictions(&mut facts);
    let counts = FactCounts::of(facts.iter().map(|(row, _)| row));
    let matching = facts.into_iter().map(|(row, _)| row).filter(|row| selection.includes(row));
    let matching: Vec<FactRow> = matching.collect();
    let total = matching.len();
    let is_next = |row: &FactRow| last_shown.as_ref().is_none_or(|last| row.cmp_in_list(last) == Ordering::Greater);
    let mut facts: Vec<FactRow> = matching.into_iter().filter(is_next).take(selection.limit + 1).collect();
    let has_next = facts.len() > selection.limit;
    facts.truncate(selection.limit);
    let next_cursor = facts.last().filter(|_| has_next).map(|row| row.id.to_string());
    Ok(Json(FactPage { facts, next_cursor, total, counts, is_truncated }))
}

impl Selection {
    fn new(params: ListParams) -> Result<Self, Fault> {
        let ListParams { text, subject, attribute, kind, state, contradicting, limit, cursor } = params;
        let limit = check_limit(limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
        let cursor = non_empty(&cursor).map(|cursor| {
            let invalid = |_| Fault::bad_request("cursor is not valid; pass the next_cursor of the previous page");
            cursor.parse::<RecordId>().map_err(invalid)
        });
        Ok(Self {
            text: text.trim().to_lowercase(),
            subject: non_empty(&subject).map(str::to_owned),
            attribute: non_empty(&attribute).map(str::to_owned),
            kind: non_empty(&kind).map(str::parse).transpose()?,
            state: parse_state(&state)?,
            contradicting,
            limit,
            cursor: cursor.transpose()?,
        })
    }

    fn includes(&self, row: &FactRow) -> bool {
        let contains = |text: &String| text.to_lowercase().contains(&self.text);
        self.state.is_none_or(|state| row.state == state)
            && self.kind.is_none_or(|kind| row.kind == kind)
            && self.subject.as_ref().is_none_or(|subject| row.subject == *subject)
            && self.attribute.as_ref().is_none_or(|attribute| row.attribute == *attribute)
            && (!self.contradicting || row.contradictions > 0)
            && [&row.text, &row.subject, &row.attribute, &row.value].into_iter().any(contains)
    }
}

impl FactCounts {
    fn of<'r>(rows: impl Iterator<Item = &'r FactRow>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            match row.state {
                FactState::Current => counts.current += 1,
                FactState::Pending => counts.pending += 1,
                FactState::Ended => counts.ended += 1,
                FactState::Retired => counts.retired += 1,
            }
            if row.contradictions > 0 {
                counts.contradicting += 1;
            }
        }
        counts
    }
}

fn parse_state(name: &str) -> Result<Option<FactState>, Fault> {
    match name.trim() {
        "" | "current" => Ok(Some(FactState::Current)),
        "pending" => Ok(Some(FactState::Pending)),
        "ended" => Ok(Some(FactState::Ended)),
        "retired" => Ok(Some(FactState::Retired)),
        "all" => Ok(None),
        _ => Err(Fault::bad_request("state is unknown; use current, pending, ended, retired or all")),
    }
}

/// Returns the last fact of the previous page.
async fn read_last_shown(engine: &MemoryEngine, scope: &Scope, id: RecordId, now: Timestamp) -> Result<FactRow, Fault> {
    let deleted = || Fault::bad_request("the fact of this cursor was deleted; begin without cursor");
    engine.get(scope, id).await?.map(|record| FactRow::clipped(&record, now)).ok_or_else(deleted)
}

/// Reads the facts within `scope`, except for those that repeat another one. Returns true if there are too many.
async fn read_facts(engine: &MemoryEngine, scope: &Scope) -> Result<(Vec<Record>, bool), Fault> {
    let mut query = ScanQuery::newest(PAGE_ROWS).with_filter(Filter::eq(Field::Kind, Kind::FACT.as_str()));
    let mut records = Vec::new();
    loop {
        let page = engine.scan(scope, &query).await?;
        records.extend(page.records.into_iter().filter(|record| merged_into(record).is_none()));
        query.after = page.next;
        if query.after.is_none() || records.len() >= MAX_FACTS {
            return Ok((records, query.after.is_some()));
        }
    }
}

/// Sets the number of contradictions of each row. The facts are in the order of a list.
fn count_contradictions(facts: &mut [(FactRow, Record)]) {
    for group in facts.chunk_by_mut(|(a, _), (b, _)| a.is_of_same_attribute(b)) {
        let mut open: Vec<&mut (FactRow, Record)> = group.iter_mut().filter(|(row, _)| row.state.is_open()).collect();
        open.truncate(MAX_COMPARED);
        while let Some((row, record)) = open.pop() {
            for (other_row, other) in &mut open {
                let can_contradict = !(row.is_one_of_many() && other_row.is_one_of_many());
                if can_contradict && contradict(record, other) {
                    row.contradictions += 1;
                    other_row.contradictions += 1;
                }
            }
        }
    }
}
