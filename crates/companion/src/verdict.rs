//! The verdict of a model about a key moment.

use memory_engine_core::{Phrases, phrases::fold};
use memory_engine_llm::structured;
use serde::Deserialize;
use serde_json::Value;

use crate::moment::{MomentOutcome, MomentRule};

/// The verdict of a model about a possible key moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentVerdict<'r> {
    /// It happened, with this outcome.
    Happened(&'r MomentOutcome),
    /// It did not happen.
    DidNotHappen,
    /// There is no readable verdict, or it quotes words that the user did not write. The moment did not happen, and
    /// may happen later.
    Unclear,
}

const NO_WORDS: [&str; 11] =
    ["none", "no", "false", "未触发", "没有触发", "没触发", "不触发", "没有", "无", "否", "不是"];
const YES_WORDS: [&str; 5] = ["yes", "true", "触发", "是", "came"];

/// A verdict in JSON, with the variations that models write.
#[derive(Deserialize)]
struct VerdictJson {
    #[serde(default, alias = "id")]
    moment: Value,
    #[serde(default, alias = "result")]
    outcome: Value,
    #[serde(default)]
    triggered: Value,
    /// The words of the user that the verdict is based on.
    #[serde(default)]
    quote: Value,
}

impl MomentRule {
    /// Parses the text between the tags of the verdict, as [`ReplyFilter`](crate::ReplyFilter) returns it.
    ///
    /// `user_messages` are the messages that the user wrote lately. If the verdict quotes the user, the quote has to
    /// be in one of them; otherwise the verdict is [`Unclear`](MomentVerdict::Unclear). Punctuation, case, width and
    /// script are ignored.
    pub fn verdict(&self, written: Option<&str>, user_messages: &[&str]) -> MomentVerdict<'_> {
        let Some(written) = written else { return MomentVerdict::Unclear };
        match structured::parse::<VerdictJson>(written) {
            Ok(json) if is_quoted(&json.quote, user_messages) => self.verdict_of_json(&json),
            Ok(_) => MomentVerdict::Unclear,
            Err(_) => self.verdict_of_words(written),
        }
    }

    /// Returns true if a verdict names this moment by its id, name or number.
    #[cfg(feature = "engine")]
    pub(crate) fn is_named_in(&self, written: &str) -> bool {
        let moment = structured::parse::<VerdictJson>(written).map(|json| folded_value(&json.moment));
        let is_own_number = moment.is_ok_and(|moment| moment == self.number.to_string());
        let written = fold(written);
        let own_names = [fold(&self.id), fold(&self.name), format!("#{}", self.number)];
        is_own_number || own_names.iter().any(|name| written.contains(name.as_str()))
    }

    fn verdict_of_json(&self, json: &VerdictJson) -> MomentVerdict<'_> {
        let moment = folded_value(&json.moment);
        let own_names = [fold(&self.id), fold(&self.name), self.number.to_string(), format!("#{}", self.number)];
        if !moment.is_empty() && !own_names.contains(&moment) {
            return MomentVerdict::DidNotHappen; // the verdict is about another moment
        }
        match (folded_value(&json.outcome), folded_value(&json.triggered)) {
            (outcome, triggered) if outcome.is_empty() && triggered.is_empty() => MomentVerdict::Unclear,
            (outcome, triggered) if outcome.is_empty() => self.verdict_of_words(&triggered),
            (_, triggered) if NO_WORDS.contains(&triggered.as_str()) => MomentVerdict::DidNotHappen,
            (outcome, _) => self.verdict_of_words(&outcome),
        }
    }

    /// Reads a verdict in words: the name of an outcome, yes or no.
    fn verdict_of_words(&self, text: &str) -> MomentVerdict<'_> {
        let text = fold(text.trim_matches(|c: char| !c.is_alphanumeric()));
        let after_label = text.rsplit(['：', ':', '=']).next().unwrap_or_default().trim().to_owned();
        let is_exact = |outcome: &&MomentOutcome| [&text, &after_label].contains(&&fold(&outcome.name));
        if let Some(outcome) = self.outcomes.iter().find(is_exact) {
            return MomentVerdict::Happened(outcome);
        }
        let contains_any = |words: &[&str]| Phrases::new(words.iter().copied()).find_folded(&after_label).is_some();
        if contains_any(&NO_WORDS) {
            return MomentVerdict::DidNotHappen;
        }
        let mut named = self.outcomes.iter().filter(|outcome| contains_any(&[outcome.name.as_str()]));
        match (named.next(), named.next()) {
            (Some(outcome), None) => MomentVerdict::Happened(outcome),
            (None, _) if contains_any(&YES_WORDS) => {
                self.outcomes.first().map_or(MomentVerdict::Unclear, MomentVerdict::Happened)
            }
            (Some(_) | None, _) => MomentVerdict::Unclear,
        }
    }
}

/// Returns a JSON value as folded text.
fn folded_value(value: &Value) -> String {
    match value {
        Value::String(text) => fold(text),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

/// Returns true if one of the messages contains the quote, or if there is no quote.
fn is_quoted(quote: &Value, messages: &[&str]) -> bool {
    let quote = letters(&folded_value(quote));
    quote.is_empty() || messages.iter().any(|message| letters(&fold(message)).contains(&quote))
}

/// Returns the letters and digits of a text.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}
