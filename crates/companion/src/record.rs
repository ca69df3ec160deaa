//! The records that a companion stores.

use memory_engine_core::{Clock, Kind, Language, Record, RecordId, Role, Scope, Trust};
use memory_engine_summarizer::{conversation_line, cut};
use serde_json::json;

use crate::{
    affection::AffectionChange,
    moment::{MomentOutcome, MomentRule},
    stage::Stages,
    state::CompanionState,
};

/// The kind of the record with the state of a companion. A ledger is stored but never recalled.
pub const COMPANION_STATE: &str = "ledger/companion";
/// The kind of the records that log each change of affection. A ledger is stored but never recalled.
pub const AFFECTION_LOG: &str = "ledger/affection";

/// Maximum number of characters of one message in the metadata of a key moment. The text of the moment contains more.
const METADATA_MESSAGE_MAX_CHARS: usize = 8000;
/// Maximum number of characters of one message in the text of a key moment, so that a record can hold several.
const TEXT_MESSAGE_MAX_CHARS: usize = 40_000;

/// Returns the record of a state. `id` is the id of the existing record, or a new one.
pub fn state_record(id: RecordId, scope: &Scope, state: &CompanionState, stages: &Stages, clock: &dyn Clock) -> Record {
    let text = format!("affection {}, {} messages", state.bond.affection, state.total_messages);
    let mut record = Record::new(scope.clone(), Kind::new(COMPANION_STATE), text, clock);
    record.id = id;
    // Records of a tool are not deduplicated: two states with equal texts are different.
    record.trust = Trust::Tool;
    record.metadata = state.to_metadata(stages);
    record
}

/// Returns an entry of the log of affection. `cause` identifies the cause of the change, such as the id of a message
/// or a day. The same change of the same companion (`state` is the id of its state) has the same record id.
pub fn affection_record(
    state: RecordId,
    scope: &Scope,
    change: &AffectionChange,
    cause: &str,
    clock: &dyn Clock,
) -> Record {
    let mut record = Record::new(scope.clone(), Kind::new(AFFECTION_LOG), change.reason.to_string(), clock);
    record.id = RecordId::named(scope, &format!("affection/{state}/{cause}"));
    record.trust = Trust::Tool;
    let metadata = json!({
        "delta": change.delta,
        "reason": change.reason.to_string(),
        "before_value": change.before,
        "after_value": change.after,
        "day": change.day,
    });
    record.metadata = metadata.as_object().cloned().unwrap_or_default();
    record
}

/// Returns the record of a key moment: its messages, word for word. The last two are the user's message and the reply.
pub fn moment_record(
    rule: &MomentRule,
    outcome: &MomentOutcome,
    chapter: u32,
    messages: &[Record],
    (companion, language): (&str, Language),
    clock: &dyn Clock,
) -> Option<Record> {
    let reply = messages.last()?;
    let last_of = |role: &Role| {
        let message = messages.iter().rev().find(|message| message.role.as_ref() == Some(role));
        message.map(|message| cut(&message.text, METADATA_MESSAGE_MAX_CHARS))
    };
    let lines: Vec<String> = messages
        .iter()
        .map(|message| cut(&conversation_line(message, companion, language), TEXT_MESSAGE_MAX_CHARS))
        .collect();
    let mut record = Record::new(reply.scope.clone(), Kind::KEY_MOMENT, lines.join("\n"), clock);
    record.id = RecordId::named(&reply.scope, &format!("key_moment/{}/{}", rule.id, reply.id));
    record.occurred_at = reply.occurred_at;
    record.source.message_id = Some(rule.id.clone());
    record.source.sequence = reply.source.sequence;
    record.topic = Some(rule.name.clone());
    record.importance = 1.0;
    record.trust = Trust::Derived;
    record.derived_from = messages.iter().map(|message| message.id).collect();
    let metadata = json!({
        "chapter": chapter,
        "moment_name": rule.name,
        "user_response": last_of(&Role::USER),
        "aicy_response": last_of(&Role::ASSISTANT),
        "outcome": outcome.name,
        "affection_gained": outcome.affection,
        "status": outcome.status,
    });
    record.metadata = metadata.as_object().cloned().unwrap_or_default();
    Some(record)
}
