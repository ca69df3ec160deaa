//! Extracts the facts of many messages by rules. `scripts/corpus-facts` runs it.
//!
//! Reads JSON Lines with `id`, `text` and optionally `speaker`, `role` and `time`. Prints one line for each fact: its
//! rule, the id of the message, the subject, the slot, the polarity and the value, separated by tabs.

use std::io::BufRead;

use memory_engine_core::{Kind, Record, RecordId, Role, Scope, Timestamp};
use memory_engine_summarizer::{ExtractedFact, RuleFacts};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = RuleFacts::built_in()?;
    let scope = Scope::user("corpus")?.with_session("corpus")?;
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let message: Value = serde_json::from_str(&line?).map_err(|error| format!("line {}: {error}", number + 1))?;
        let key = |name: &str| message.get(name).and_then(Value::as_str);
        let (Some(id), Some(text)) = (key("id"), key("text")) else {
            return Err(format!("line {}: it has no \"id\" and \"text\"", number + 1).into());
        };
        let time = key("time").and_then(|time| time.parse::<Timestamp>().ok()).unwrap_or(Timestamp::from_micros(0));
        let mut record = Record::with_id(RecordId::new(), scope.clone(), Kind::TURN, text.into(), time);
        // In conversations of two persons, the sets have `participant` in place of a role.
        record.role = key("role").filter(|role| *role != "participant").map(Role::new);
        record.speaker = key("speaker").map(str::to_owned);
        // An end states nothing by itself: without the fact that it ends, it is not stored.
        let is_fact = |fact: &ExtractedFact| !fact.slot.starts_with(ExtractedFact::ENDED);
        for fact in rules.facts(&[record]).into_iter().filter(is_fact) {
            let rule = fact.rule.as_ref().map(ToString::to_string).unwrap_or_default();
            let value = fact.value.replace(['\t', '\n'], " ");
            println!("{rule}\t{id}\t{}\t{}\t{}\t{value}", fact.subject, fact.slot, fact.polarity);
        }
    }
    Ok(())
}
