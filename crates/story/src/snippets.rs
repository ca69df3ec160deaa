//! Selects the snippets of a context, and cites the messages that they come from.

use std::collections::BTreeSet;

use memory_engine::{Recall, RecallHit, recall::Retriever};
use memory_engine_core::{Kind, Record, RecordId};

use crate::message::StoryTurn;

/// A record with at least this score of the graph retriever is shown even if it is not relevant to a query: it states
/// the relation between two entities that are named now.
const MIN_RELATION_SCORE: f64 = 0.8;

/// Maximum number of characters of a citation.
const MAX_CITATION_CHARS: usize = 60;

/// Selects the best hits of the recalls in turn. It skips further parts of a selected message and memories derived only
/// from messages in the prompt.
///
/// Summaries come last. They fill the places that messages leave free, and are skipped if they cover a selected
/// message.
pub(crate) fn select_snippets(recalls: &[Recall], turn: &StoryTurn, limit: usize) -> Vec<Record> {
    let mut lists: Vec<_> =
        recalls.iter().map(|recall| recall.hits.iter().filter(|hit| is_worth_showing(hit, &recall.hits))).collect();
    let mut messages: Vec<Record> = Vec::new();
    let mut summaries: Vec<Record> = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let round: Vec<Record> = lists.iter_mut().filter_map(Iterator::next).map(|hit| hit.record.clone()).collect();
        if round.is_empty() {
            break;
        }
        for record in round.into_iter().filter(|record| !repeats_recent(record, turn)) {
            let message = record.source.message_id.clone().unwrap_or_else(|| record.id.to_string());
            if seen.insert(message) {
                let selected = if cites_sources(&record) { &mut summaries } else { &mut messages };
                selected.push(record);
            }
        }
    }
    let mut selected = messages;
    selected.truncate(limit);
    for summary in summaries {
        let covers_selected = selected.iter().any(|record| summary.derived_from.contains(&record.id));
        if selected.len() < limit && !covers_selected {
            selected.push(summary);
        }
    }
    selected
}

/// Returns true if a hit is relevant and new. A message that repeats its own summary is new, because the message is
/// shown in place of the summary.
fn is_worth_showing(hit: &RecallHit, hits: &[RecallHit]) -> bool {
    let states_relation = hit
        .found_by
        .iter()
        .any(|found| found.retriever == Retriever::Graph && found.score.value() >= MIN_RELATION_SCORE);
    let repeats_other = hit.repeats.is_some_and(|id| {
        let repeated = hits.iter().find(|other| other.record.id == id);
        repeated.is_none_or(|other| !other.record.derived_from.contains(&hit.record.id))
    });
    !repeats_other && (hit.relevant || states_relation)
}

/// Returns true if a record is cited by the messages that it was derived from: a summary, or a record without a
/// message.
pub(crate) fn cites_sources(record: &Record) -> bool {
    !record.derived_from.is_empty() && (record.kind == Kind::SUMMARY || record.source.message_id.is_none())
}

/// Returns a record that is cited by these messages: by their ids and sequence numbers, or, if these are too long, by
/// the id of the first message and the range of the numbers. `None` if no message has an id.
pub(crate) fn with_citation(record: &Record, sources: &[Record]) -> Option<Record> {
    let mut sources: Vec<&Record> = sources.iter().filter(|source| source.source.message_id.is_some()).collect();
    sources.sort_by_key(|source| source.position());
    let ids: Vec<&str> = sources.iter().filter_map(|source| source.source.message_id.as_deref()).collect();
    let numbers: Vec<i64> = sources.iter().filter_map(|source| source.source.sequence).collect();
    let (first, last) = (*ids.first()?, *ids.last()?);
    let sequences = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if first == last => format!(" / seq {first}"),
        (Some(first), Some(last)) => format!(" / seq {first}–{last}"),
        _ => String::new(),
    };
    let forms = [ids.join(", "), format!("{first} … {last}"), first.to_owned()].map(|ids| ids + &sequences);
    let fits = |citation: &&String| citation.chars().count() <= MAX_CITATION_CHARS;
    let mut cited = record.clone();
    cited.source.message_id = forms.iter().find(fits).or(forms.last()).cloned();
    cited.source.sequence = None;
    Some(cited)
}

/// Returns true if a record is derived only from recent messages.
pub(crate) fn repeats_recent(record: &Record, turn: &StoryTurn) -> bool {
    let is_recent =
        |id: &RecordId| turn.recent.iter().any(|message| RecordId::named(&record.scope, &message.id) == *id);
    !record.derived_from.is_empty() && record.derived_from.iter().all(is_recent)
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Scope, SystemClock, Timestamp};

    use super::*;

    fn message(id: &str, sequence: i64) -> Record {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "The fog lifted.", &SystemClock);
        record.occurred_at = Timestamp::from_micros(sequence);
        record.source.message_id = Some(id.to_owned());
        record.source.sequence = Some(sequence);
        record
    }

    fn citation(messages: &[Record]) -> Option<String> {
        let summary = Record::new(Scope::user("lin").unwrap(), Kind::SUMMARY, "A day at sea", &SystemClock);
        let cited = with_citation(&summary, messages)?;
        assert_eq!((cited.id, cited.source.sequence), (summary.id, None));
        cited.source.message_id
    }

    #[test]
    fn r7_a_summary_cites_the_messages_that_it_covers() {
        let short = [message("m4", 4), message("m3", 3), message("m5", 5)];
        assert_eq!(citation(&short).unwrap(), "m3, m4, m5 / seq 3–5");
        assert_eq!(citation(&short[..1]).unwrap(), "m4 / seq 4");
        let many: Vec<Record> = (1..=40).map(|n| message(&format!("m{n}"), n)).collect();
        assert_eq!(citation(&many).unwrap(), "m1 … m40 / seq 1–40");
        let long: Vec<Record> = (1..=2).map(|n| message(&format!("{n}{}", "0".repeat(35)), n)).collect();
        assert_eq!(citation(&long).unwrap(), format!("1{} / seq 1–2", "0".repeat(35)));
        let mut unnamed = message("x", 1);
        unnamed.source.message_id = None;
        assert_eq!(citation(&[unnamed]), None);
    }
}
