//! Moments that are kept for ever: when they may come, and whether one came.

use std::collections::BTreeSet;

use memory_engine_core::{Language, Phrases, phrases::fold};
use memory_engine_llm::structured;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    stage::MAX_AFFECTION,
    words::{heading, words},
};

/// When a key moment may come, and what it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentRule {
    /// Its id: `first_meet`.
    pub id: String,
    /// Its number, which the prompt names it by.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// From which affection on it may come.
    #[serde(default)]
    pub from: i32,
    /// Up to which affection it may come.
    #[serde(default = "most")]
    pub until: i32,
    /// What the message has to hold, one of these; nothing in particular, when there are none.
    #[serde(default)]
    pub words: Vec<String>,
    /// When it comes, for the model to judge.
    pub condition: String,
    /// What the model is told to do then.
    pub guidance: String,
    /// How it may come out; the first one is meant where a model says no more than that it came.
    pub outcomes: Vec<Outcome>,
    /// How many rounds of the conversation are kept, the last one included.
    #[serde(default = "one")]
    pub rounds: usize,
}

/// How a key moment came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// What it is called.
    pub name: String,
    /// What affection it brings, or costs.
    pub affection: i32,
    /// What is noted of the moment: `completed`, unless told otherwise, or `failed`.
    #[serde(default = "completed")]
    pub status: String,
}

fn most() -> i32 {
    MAX_AFFECTION
}

fn one() -> usize {
    1
}

fn completed() -> String {
    "completed".into()
}

/// What a model says about a key moment that may have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'r> {
    /// It came, and so.
    Came(&'r Outcome),
    /// It did not come.
    DidNot,
    /// There is no verdict, or one that cannot be read: it did not come, and may the next time.
    Unclear,
}

/// Words for no, and for yes.
const NO: [&str; 11] = ["none", "no", "false", "未触发", "没有触发", "没触发", "不触发", "没有", "无", "否", "不是"];
const YES: [&str; 5] = ["yes", "true", "触发", "是", "came"];

/// A verdict as it is asked for, and as models vary it.
#[derive(Deserialize)]
struct Written {
    #[serde(default, alias = "id")]
    moment: Value,
    #[serde(default, alias = "result")]
    outcome: Value,
    #[serde(default)]
    triggered: Value,
}

impl MomentRule {
    /// The first rule that a message may bring about: within its affection, not there yet, and with one of its words.
    pub fn candidate<'r>(rules: &'r [Self], affection: i32, there: &BTreeSet<String>, text: &str) -> Option<&'r Self> {
        let folded = fold(text);
        rules.iter().find(|rule| {
            let within = (rule.from..=rule.until).contains(&affection) && !there.contains(&rule.id);
            within && (rule.words.is_empty() || Phrases::new(&rule.words).find_folded(&folded).is_some())
        })
    }

    /// The section of the prompt, which ends with the form of the verdict.
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
            let (moment, outcome) = (serde_json::json!(self.id), serde_json::json!(name));
            let verdict = format!("{{\"moment\":{moment},\"outcome\":{outcome}}}");
            let meaning = if meaning == name { String::new() } else { format!(" ({meaning})") };
            text.push_str(&format!("\n<verdict>{verdict}</verdict>{meaning}"));
        }
        text
    }

    /// Reads what a model wrote between the tags, as [`ReplyFilter`](crate::ReplyFilter) found it.
    pub fn verdict(&self, written: Option<&str>) -> Verdict<'_> {
        let Some(written) = written else { return Verdict::Unclear };
        match structured::parse::<Written>(written) {
            Ok(json) => self.judged(&json),
            Err(_) => self.in_words(written),
        }
    }

    fn judged(&self, json: &Written) -> Verdict<'_> {
        let moment = plain(&json.moment);
        let ours = [fold(&self.id), fold(&self.name), self.number.to_string(), format!("#{}", self.number)];
        if !moment.is_empty() && !ours.contains(&moment) {
            return Verdict::DidNot; // it speaks of another one
        }
        match (plain(&json.outcome), plain(&json.triggered)) {
            (outcome, triggered) if outcome.is_empty() && triggered.is_empty() => Verdict::Unclear,
            (outcome, triggered) if outcome.is_empty() => self.in_words(&triggered),
            (_, triggered) if NO.contains(&triggered.as_str()) => Verdict::DidNot,
            (outcome, _) => self.in_words(&outcome),
        }
    }

    /// Reads a verdict that is words: an outcome's name, yes or no.
    fn in_words(&self, text: &str) -> Verdict<'_> {
        let text = fold(text.trim_matches(|c: char| !c.is_alphanumeric()));
        let said = text.rsplit(['：', ':', '=']).next().unwrap_or_default().trim().to_owned();
        let exactly = |outcome: &&Outcome| [&text, &said].contains(&&fold(&outcome.name));
        if let Some(outcome) = self.outcomes.iter().find(exactly) {
            return Verdict::Came(outcome);
        }
        let holds = |words: &[&str]| Phrases::new(words.iter().copied()).find_folded(&said).is_some();
        if holds(&NO) {
            return Verdict::DidNot;
        }
        let mut named = self.outcomes.iter().filter(|outcome| holds(&[outcome.name.as_str()]));
        match (named.next(), named.next()) {
            (Some(outcome), None) => Verdict::Came(outcome),
            (None, _) if holds(&YES) => self.outcomes.first().map_or(Verdict::Unclear, Verdict::Came),
            (Some(_) | None, _) => Verdict::Unclear,
        }
    }
}

/// A JSON value as folded words.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => fold(text),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}
