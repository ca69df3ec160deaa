//! Extracts appointments with their dates: made, moved or called off.

use std::{ops::Range, time::Duration};

use jiff::tz::TimeZone;
use memory_engine_core::{Language, RuleId, Timestamp};
use memory_engine_text::{Macros, RegexError, SharedRegex};
use serde::Deserialize;

use crate::{
    data::{compiled, data},
    fact::{
        assertion,
        claim::Claim,
        dates::{DatePhrase, future_dates},
        template::{expanded, language_of},
        types::{ExtractedFact, Polarity},
    },
};

/// Maximum number of words between an event and its date: "an interview at Acme on Friday".
const EVENT_TO_DATE_MAX_WORDS: usize = 6;

/// Maximum time to an event of a rule for any clause: 270 days.
const ANYWHERE_MAX_AHEAD: Duration = Duration::from_secs(270 * 24 * 60 * 60);

/// Words before a Chinese event that belong to the statement about it.
const ZH_EVENT_LEADS: [&str; 6] = ["我的", "我那个", "我", "原定的", "那个", "这个"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    macros: Macros,
    rules: Vec<PlanRuleEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRuleEntry {
    id: RuleId,
    at: MatchArea,
    #[serde(default)]
    moves: bool,
    #[serde(default)]
    anywhere: bool,
    #[serde(rename = "match")]
    form: String,
}

/// The part of a sentence that the pattern of a rule is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MatchArea {
    /// The whole sentence, including dates.
    Sentence,
    /// Before a date.
    Before,
    /// Before a date that follows within [`EVENT_TO_DATE_MAX_WORDS`] words.
    Near,
    /// After a date.
    After,
    /// Directly after a date at the beginning of a clause.
    Opening,
}

/// A rule that extracts appointments.
struct PlanRule {
    id: RuleId,
    at: MatchArea,
    /// True if the former appointment is off.
    moves: bool,
    /// True if the event need not begin its clause: "they booked me a scan, 28 May".
    anywhere: bool,
    regex: SharedRegex,
    language: Language,
}

#[derive(Deserialize)]
#[serde(try_from = "PlanFile")]
struct PlanRules(Vec<PlanRule>);

data!(RULES: PlanRules = "zh/plans.toml", "en/plans.toml");

impl TryFrom<PlanFile> for PlanRules {
    type Error = RegexError;

    fn try_from(file: PlanFile) -> Result<Self, Self::Error> {
        let rule = |PlanRuleEntry { id, at, moves, anywhere, form }| {
            let regex = compiled(&expanded(&file.macros, &form))?;
            Ok(PlanRule { id, at, moves, anywhere, regex, language: language_of(&form) })
        };
        file.rules.into_iter().map(rule).collect::<Result<_, _>>().map(Self)
    }
}

/// An appointment that was made, moved or called off.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Appointment {
    rule: RuleId,
    pub(super) event: String,
    /// Its date; `None` if it was called off.
    pub(super) when: Option<DatePhrase>,
    /// True if the former appointment is off.
    pub(super) moves: bool,
    language: Language,
}

/// Returns the ids of the rules.
pub(super) fn rule_ids<'r>() -> impl Iterator<Item = &'r RuleId> {
    RULES.0.iter().map(|rule| &rule.id)
}

/// Returns the appointments in a normalised sentence of the speaker.
pub(super) fn appointments(sentence: &str, said_at: Timestamp, zone: &TimeZone) -> Vec<Appointment> {
    let called_off = RULES.0.iter().filter_map(|rule| Some(rule.appointment(rule.called_off_event(sentence)?, None)));
    let dated = future_dates(sentence, said_at, zone).into_iter().filter_map(|(date, when)| {
        // The first rule that matches the date decides, even if nothing is stated.
        // Days too far ahead may be past ones without a year, which a rule for any clause cannot tell apart.
        let latest = said_at.after(ANYWHERE_MAX_AHEAD);
        let rules = RULES.0.iter().filter(|rule| !rule.anywhere || when.from < latest);
        let matched = rules.into_iter().find_map(|rule| Some((rule, rule.event_of(sentence, &date)?)));
        matched.and_then(|(rule, event)| Some(rule.appointment(event?, Some(when))))
    });
    let mut found: Vec<Appointment> = Vec::new();
    for appointment in called_off.chain(dated) {
        // "A check-up on Friday, so no wine tonight": the first date is that of the event.
        let is_same_dated_event = |known: &Appointment| known.when.is_some() && known.event == appointment.event;
        if !found.iter().any(is_same_dated_event) {
            found.push(appointment);
        }
    }
    found
}

impl Appointment {
    /// Returns the claims of the appointment: one that ends the former appointment, and one with the new date.
    pub(super) fn claims(self) -> impl Iterator<Item = Claim> {
        let claim = Claim {
            rule: self.rule,
            slot: format!("plan.{}", self.event),
            value: ExtractedFact::ANY.to_owned(),
            polarity: Polarity::Negative,
            language: self.language,
            replaces: false,
            valid_from: None,
            valid_until: None,
        };
        let new = self.when.map(|when| Claim {
            value: when.label,
            polarity: Polarity::Positive,
            valid_from: Some(when.from),
            valid_until: Some(when.until),
            ..claim.clone()
        });
        self.moves.then_some(claim).into_iter().chain(new)
    }
}

impl PlanRule {
    fn appointment(&self, event: String, when: Option<DatePhrase>) -> Appointment {
        Appointment { rule: self.id.clone(), event, when, moves: self.moves, language: self.language }
    }

    fn is_stated(&self, sentence: &str, found: Range<usize>) -> bool {
        if self.anywhere { assertion::is_claimed(sentence, found) } else { assertion::is_stated(sentence, found) }
    }

    /// Returns the event of a sentence without a date, which calls the event off.
    fn called_off_event(&self, sentence: &str) -> Option<String> {
        let (event, found) = self.event(sentence).filter(|_| self.at == MatchArea::Sentence)?;
        self.is_stated(sentence, subject_start(sentence, &found)..found.end).then_some(event)
    }

    /// Returns `None` if the rule does not apply to a date, and `Some(None)` if it does but nothing is stated.
    fn event_of(&self, sentence: &str, date: &Range<usize>) -> Option<Option<String>> {
        match self.at {
            MatchArea::Sentence => None,
            MatchArea::Before | MatchArea::Near => self.event_before(sentence, date),
            MatchArea::After => self.event_after(sentence, date),
            MatchArea::Opening => self.event_after_opening(sentence, date),
        }
    }

    fn event_before(&self, sentence: &str, date: &Range<usize>) -> Option<Option<String>> {
        let before = &sentence[..date.start];
        let (event, found) = self.event(before)?;
        let start = if self.language == Language::Chinese { subject_start(sentence, &found) } else { found.start };
        if !self.is_stated(sentence, start..date.end) {
            return None;
        }
        let between = &before[found.end..];
        let is_near = between.split_whitespace().count() <= EVENT_TO_DATE_MAX_WORDS && !between.contains([',', ';']);
        Some((self.at != MatchArea::Near || is_near).then_some(event))
    }

    fn event_after(&self, sentence: &str, date: &Range<usize>) -> Option<Option<String>> {
        let before = &sentence[..date.start];
        let after = &sentence[date.end..];
        let (event, found) = self.event(after)?;
        // Only the speaker may be named before the date.
        let start = before.strip_suffix('我').map_or(date.start, str::len);
        let is_stated = assertion::is_stated(sentence, start..date.end + found.end);
        Some((is_stated && !after[..found.end].contains('不')).then_some(event))
    }

    /// Reads sentences such as "Tomorrow I have an exam."
    fn event_after_opening(&self, sentence: &str, date: &Range<usize>) -> Option<Option<String>> {
        let before = sentence[..date.start].trim();
        let after = &sentence[date.end..];
        let (event, found) = self.event(after)?;
        let begins_clause =
            before.is_empty() || before.ends_with(',') || ["on", "and", "so"].contains(&&*before.to_lowercase());
        let follows = after[..found.start].trim_matches([' ', ',']).is_empty();
        let is_stated = assertion::is_stated(sentence, date.end + found.start..date.end + found.end);
        Some((begins_clause && follows && is_stated).then_some(event))
    }

    /// Returns the event of the first match, and the range of the match.
    fn event(&self, text: &str) -> Option<(String, Range<usize>)> {
        let found = self.regex.captures(text)?;
        let named = found.name("event")?.as_str();
        // The name of a place keeps its capital.
        let event = match named.split_once(" to ") {
            Some((event, place)) => format!("{} to {place}", event.to_lowercase()),
            None => named.to_lowercase(),
        };
        Some((event.strip_prefix("new ").unwrap_or(&event).to_owned(), found.get(0)?.range()))
    }
}

/// Returns the start of a Chinese statement about an event: of words such as `我的` before it, or of the event.
fn subject_start(sentence: &str, event: &Range<usize>) -> usize {
    let before = &sentence[..event.start];
    ZH_EVENT_LEADS.iter().find_map(|lead| before.strip_suffix(lead)).map_or(event.start, str::len)
}

#[cfg(test)]
mod tests;
