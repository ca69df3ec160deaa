//! The records that a companion stores.

use memory_engine_core::{Clock, Kind, Language, Record, RecordId, Role, Scope, Trust};
use memory_engine_summarizer::{conversation_line, cut};
use serde_json::json;

use crate::{
    affection::Change,
    moment::{MomentRule, Outcome},
    stage::Stages,
    state::CompanionState,
};

/// The kind of the record with a companion's state: a ledger, kept but never recalled.
pub const COMPANION_STATE: &str = "ledger/companion";
/// The kind of the records that log each change of affection: a ledger, too.
pub const AFFECTION_LOG: &str = "ledger/affection";

/// How many characters of one message a key moment holds again in its metadata; its text holds them all.
const LONGEST_COPY: usize = 8000;
/// How many characters of one message the text of a key moment holds, so that a record can hold a few.
const LONGEST_LINE: usize = 40_000;

/// The record with the state; give it the id of the one that is there.
pub fn state_record(id: RecordId, scope: &Scope, state: &CompanionState, stages: &Stages, clock: &dyn Clock) -> Record {
    let text = format!("affection {}, {} messages", state.bond.affection, state.total_messages);
    let mut record = Record::new(scope.clone(), Kind::new(COMPANION_STATE), text, clock);
    // Books are kept by a tool: two of their lines may well read the same, and nobody said either of them.
    (record.id, record.trust) = (id, Trust::Tool);
    record.metadata = state.to_metadata(stages);
    record
}

/// A line of the log of affection. `cause` names what changed it, such as the id of a message, or the day: the same
/// change of the same companion (`state` is the id of its state) is the same record.
pub fn affection_record(state: RecordId, scope: &Scope, change: &Change, cause: &str, clock: &dyn Clock) -> Record {
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

/// A key moment: the messages that it is made of, word for word, the last two of which are the user's and the reply.
pub fn moment_record(
    rule: &MomentRule,
    outcome: &Outcome,
    chapter: u32,
    messages: &[Record],
    (companion, language): (&str, Language),
    clock: &dyn Clock,
) -> Option<Record> {
    let reply = messages.last()?;
    let by = |role: &Role| {
        let said = messages.iter().rev().find(|message| message.role.as_ref() == Some(role));
        said.map(|message| cut(&message.text, LONGEST_COPY))
    };
    let lines: Vec<String> =
        messages.iter().map(|message| cut(&conversation_line(message, companion, language), LONGEST_LINE)).collect();
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
        "user_response": by(&Role::USER),
        "aicy_response": by(&Role::ASSISTANT),
        "outcome": outcome.name,
        "affection_gained": outcome.affection,
        "status": outcome.status,
    });
    record.metadata = metadata.as_object().cloned().unwrap_or_default();
    Some(record)
}
