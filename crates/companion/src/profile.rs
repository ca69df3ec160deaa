//! The profile of a user as a companion's prompt shows it.

use memory_engine_core::{Clock, Language, Record, RecordId, Scope};
use memory_engine_summarizer::{Profile, user_profile_record};
use serde_json::json;

use crate::{
    stage::{Stage, Stages},
    state::CompanionState,
    words,
};

/// Returns the text of a profile with the affection and the chapter at which it was made.
pub fn profile_text(profile: &Profile, language: Language, affection: i32, (chapter, stage): (u32, &Stage)) -> String {
    let affection = format!("{affection}{}", words::chapter(language, chapter, &stage.name));
    profile.text_with_affection(language, &affection)
}

/// Returns the record of a profile with the current affection and chapter, derived from the records `made_from`.
pub fn profile_record(
    profile: &Profile,
    state: &CompanionState,
    (stages, language): (&Stages, Language),
    scope: &Scope,
    made_from: Vec<RecordId>,
    clock: &dyn Clock,
) -> Record {
    let (chapter, stage) = stages.at(state.bond.affection);
    let mut record = user_profile_record(profile, language, scope, made_from, clock);
    record.text = profile_text(profile, language, state.bond.affection, (chapter, stage));
    record.metadata.insert("affection".into(), json!(state.bond.affection));
    record.metadata.insert("current_chapter".into(), json!(chapter));
    record.metadata.insert("total_messages".into(), json!(state.total_messages));
    record
}
