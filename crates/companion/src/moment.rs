//! Key moments, which are stored permanently: their rules, and the verdict of a model about them.

use std::collections::BTreeSet;

use memory_engine_core::{Language, Phrases, phrases::fold};
use memory_engine_llm::structured;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    stage::MAX_AFFECTION,
    words::{heading, words},
};

/// The rule of a key moment: its conditions and outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentRule {
    /// The id, such as `first_meet`.
    pub id: String,
    /// The number by which the prompt refers to it.
    pub number: u32,
    /// The name.
    pub name: String,
    /// Minimum affection. Default: 0.
    #[serde(default)]
    pub from: i32,
    /// Maximum affection. Default: [`MAX_AFFECTION`].
    #[serde(default = "max_affection")]
    pub until: i32,
    /// The message must contain one of these words. Default: empty, which allows any message.
    #[serde(default)]
    pub words: Vec<String>,
    /// The condition that the model judges.
    pub condition: String,
    /// Instructions for the model if the condition is met.
    pub guidance: String,
    /// The possible outcomes. If the model only says that the moment happened, the first one counts.
    pub outcomes: Vec<MomentOutcome>,
    /// Number of rounds of the conversation that are stored with the moment, including the last one. Default: 1.
    #[serde(default = "one_round")]
    pub rounds: usize,
}

/// An outcome of a key moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentOutcome {
    /// The name.
    pub name: String,
    /// Points of affection; may be negative.
    pub affection: i32,
    /// The status of the moment in the state, `completed` or `failed`. Default: `completed`.
    #[serde(default = "completed")]
    pub status: String,
}

fn max_affection() -> i32 {
    MAX_AFFECTION
}

fn one_round() -> usize {
    1
}

fn completed() -> String {
    "completed".into()
}

/// The verdict of a model about a possible key moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentVerdict<'r> {
    /// It happened, with this outcome.
    Happened(&'r MomentOutcome),
    /// It did not happen.
    DidNotHappen,
    /// There is no readable verdict. The moment did not happen, and may happen later.
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
}

impl MomentRule {
    /// Returns the first rule that a message may trigger: affection is within its range, the message contains one of
    /// its words, and the moment has not happened yet.
    pub fn candidate<'r>(
        rules: &'r [Self],
        affection: i32,
        happened: &BTreeSet<String>,
        text: &str,
    ) -> Option<&'r Self> {
        let folded = fold(text);
        rules.iter().find(|rule| {
            let is_possible = (rule.from..=rule.until).contains(&affection) && !happened.contains(&rule.id);
            is_possible && (rule.words.is_empty() || Phrases::new(&rule.words).find_folded(&folded).is_some())
        })
    }

    /// Returns the section of the prompt about this moment. It ends with the format of the verdict.
    pub fn section(&self, language: Language) -> String {
        let words = words(language);
        let colon = words.colon;
        let mut text = format!(
            "{}{}{colon}#{} {}\n\n{}{colon}{}\n{}\n\n{}",
            heading(language, words.possible),
            words.possible_now,
            self.number,
            self.name,
            words.condition,
            self.condition.trim(),
            self.guidance.trim(),
            words.verdict,
        );
        let names = self.outcomes.iter().map(|outcome| (outcome.name.as_str(), outcome.name.as_str()));
        for (name, meaning) in names.chain([("none", words.otherwise)]) {
            let moment = serde_json::json!(self.id);
            let outcome = serde_json::json!(name);
            let verdict = format!("{{\"moment\":{moment},\"outcome\":{outcome}}}");
            let meaning = if meaning == name { String::new() } else { format!(" ({meaning})") };
            text.push_str(&format!("\n<verdict>{verdict}</verdict>{meaning}"));
        }
        text
    }

    /// Parses the text between the tags of the verdict, as [`ReplyFilter`](crate::ReplyFilter) returns it.
    pub fn verdict(&self, written: Option<&str>) -> MomentVerdict<'_> {
        let Some(written) = written else { return MomentVerdict::Unclear };
        match structured::parse::<VerdictJson>(written) {
            Ok(json) => self.verdict_of_json(&json),
            Err(_) => self.verdict_of_words(written),
        }
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
