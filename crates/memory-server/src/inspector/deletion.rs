//! The preview of a deletion. `POST /api/deletions` makes it.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use super::{record::RecordView, state::InspectorState};
use crate::{access::Access, deletions::DeletionRequest, fault::Fault, request::Body};

/// Maximum number of selected records in an answer, and of derived ones.
const SAMPLE_RECORDS: usize = 20;

/// The records that a deletion would remove now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PreviewReply {
    /// Number of all records that would be deleted.
    records: u64,
    /// Number of records that the request names or matches, by kind.
    selected: BTreeMap<String, u64>,
    /// Number of further records, by kind, that are derived from those.
    derived: BTreeMap<String, u64>,
    /// Number of groups of synonyms, and of decisions about pairs of words.
    synonyms: u64,
    /// Number of turns that state a fact among them: they would be retracted.
    retracted: u64,
    /// Ids of the request that no record of the owner has.
    not_found: Vec<String>,
    /// The first of the selected records, at most 20.
    selected_sample: Vec<RecordView>,
    /// The first of the derived records, at most 20.
    derived_sample: Vec<RecordView>,
    /// The first of the turns to retract, at most 20.
    retracted_sample: Vec<RecordView>,
}

pub(super) async fn preview_deletion(
    State(state): State<InspectorState>,
    access: Access,
    Body(request): Body<DeletionRequest>,
) -> Result<Json<PreviewReply>, Fault> {
    let (scope, target) = request.resolve(&access)?;
    let preview = state.engine.deletion().preview(&scope, target, SAMPLE_RECORDS).await?;
    Ok(Json(PreviewReply {
        records: preview.records(),
        selected_sample: preview.selected_sample.iter().map(RecordView::of).collect(),
        derived_sample: preview.derived_sample.iter().map(RecordView::of).collect(),
        retracted_sample: preview.retracted_sample.iter().map(RecordView::of).collect(),
        not_found: preview.not_found.iter().map(ToString::to_string).collect(),
        selected: preview.selected,
        derived: preview.derived,
        synonyms: preview.synonyms,
        retracted: preview.retracted,
    }))
}
