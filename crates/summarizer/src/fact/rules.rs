//! Extracts facts by rules, without a model.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use memory_engine_core::{Language, Locale, Record, Result, RuleId, text::normalize};
use memory_engine_intake::without_injected;
use memory_engine_text::sentences;

use crate::{
    fact::{
        assertion,
        clauses::ClauseContext,
        confirmation::{in_first_person, is_yes},
        extractor::{FactExtractor, Facts},
        patterns::FactPatterns,
        plan,
        reader::{SentenceReader, Utterance},
        takebacks,
        types::ExtractedFact,
    },
    role,
};

/// Extracts facts by patterns, in Chinese and English, without a model. Precision has priority over recall.
///
/// Facts come from plain statements of people about themselves. Questions, suppositions, reported speech, quotations,
/// stage directions and texts to be rewritten give no facts. A statement of the model about the person gives a fact
/// only if the person confirms it with a yes.
///
/// ```
/// use memory_engine_core::{Kind, Record, Role, Scope, SystemClock};
/// use memory_engine_summarizer::RuleFacts;
///
/// let mut turn = Record::new(Scope::user("lin")?, Kind::TURN, "我海鲜过敏，别推荐海鲜", &SystemClock);
/// turn.role = Some(Role::USER);
/// let facts = RuleFacts::built_in()?.facts(&[turn]);
/// assert_eq!((facts[0].slot.as_str(), facts[0].value.as_str()), ("allergy", "海鲜"));
/// assert_eq!(facts[0].text, "用户对海鲜过敏。");
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RuleFacts {
    patterns: Arc<FactPatterns>,
    /// `None`: the zone of the locale.
    zone: Option<TimeZone>,
    fiction: Vec<String>,
}

/// The scenes whose turns state no facts by default: a story that is played, and talk about the system.
const FICTION_SCENES: [&str; 2] = ["plot", "meta"];
/// Confidence of a fact in the person's own words, and of a statement of the model that the person confirmed.
const STATED_CONFIDENCE: f64 = 0.8;
const CONFIRMED_CONFIDENCE: f64 = 0.7;
/// The user of a client that names none. The name of such a user is not known.
const DEFAULT_USER: &str = "default";
/// Maximum length of a plain statement, and of a statement that a person confirms, in bytes.
const SENTENCE_MAX_BYTES: usize = 600;
const CONFIRMED_SENTENCE_MAX_BYTES: usize = 200;
/// Maximum length of a text, in bytes. The rest is ignored.
const TEXT_MAX_BYTES: usize = 20_000;

impl RuleFacts {
    /// Creates an extractor with the rules of the crate. Turns of the scenes `plot` and `meta` give no facts.
    ///
    /// # Errors
    /// As [`FactPatterns::built_in`].
    pub fn built_in() -> Result<Self> {
        Ok(Self::new(FactPatterns::built_in()?))
    }

    /// Creates an extractor with these rules.
    pub fn new(patterns: FactPatterns) -> Self {
        let fiction = FICTION_SCENES.map(str::to_owned).to_vec();
        Self { patterns: Arc::new(patterns), zone: None, fiction }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the time zone of days such as "tomorrow". Default: that of the engine; UTC without an engine.
        with_zone(zone: TimeZone) => zone = Some(zone);
        /// Sets the scenes whose turns give no facts. Default: `plot` and `meta`.
        with_fiction(scenes: impl IntoIterator<Item = impl Into<String>>)
            => fiction = scenes.into_iter().map(Into::into).collect();
    }

    /// Returns the facts in consecutive turns, oldest first, as [`FactExtractor::extract`] with the default locale
    /// does.
    pub fn facts(&self, turns: &[Record]) -> Vec<ExtractedFact> {
        self.facts_in(turns, &TimeZone::UTC)
    }

    /// Returns the facts in consecutive turns. Days are those of `default_zone`, unless the rules have a zone of their
    /// own.
    pub(crate) fn facts_in(&self, turns: &[Record], default_zone: &TimeZone) -> Vec<ExtractedFact> {
        let zone = self.zone.as_ref().unwrap_or(default_zone);
        let mut facts = Vec::new();
        let mut previous: Option<&Record> = None;
        for turn in turns {
            let is_relevant = role::is_said(turn) && !self.is_fiction(turn);
            if is_relevant && !role::is_assistant(turn) {
                let confirmed = previous.filter(|turn_before| role::is_assistant(turn_before) && is_yes(&turn.text));
                if let Some(statement) = confirmed {
                    facts.extend(self.confirmed_facts(statement, turn, zone));
                }
                facts.extend(self.facts_of_turn(turn, zone));
            }
            previous = is_relevant.then_some(turn);
        }
        facts
    }

    /// Returns true if a turn belongs to a scene whose turns give no facts.
    pub(crate) fn is_fiction(&self, turn: &Record) -> bool {
        turn.scene.as_ref().is_some_and(|scene| self.fiction.contains(scene))
    }

    /// Returns the ids of all rules.
    pub fn rule_ids(&self) -> Vec<&RuleId> {
        let mut ids: Vec<&RuleId> = self.patterns.rule_ids().collect();
        ids.extend(plan::rule_ids());
        ids.extend(takebacks::rule_ids(Language::English));
        ids.extend(takebacks::rule_ids(Language::Chinese));
        ids
    }

    fn facts_of_turn(&self, turn: &Record, zone: &TimeZone) -> Vec<ExtractedFact> {
        let mut text = without_injected(&turn.text);
        if text.len() > TEXT_MAX_BYTES {
            text.truncate((0..=TEXT_MAX_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        }
        let masked = assertion::mask(&text);
        let mut reader = self.reader(turn, zone, vec![turn], STATED_CONFIDENCE);
        reader.message.clone_from(&masked);
        for range in sentences(&masked).into_iter().filter(|range| range.len() <= SENTENCE_MAX_BYTES) {
            reader.read(&assertion::normalise_sentence(&masked[range.clone()]), &text[range]);
        }
        if masked.len() <= SENTENCE_MAX_BYTES {
            reader.read_introductions(&assertion::normalise_sentence(&masked), &text);
        }
        reader.facts
    }

    /// Returns the facts in a statement of the model that the person confirmed in the answer.
    fn confirmed_facts(&self, statement: &Record, answer: &Record, zone: &TimeZone) -> Vec<ExtractedFact> {
        let text = without_injected(&statement.text);
        let masked = assertion::mask(&text);
        let mut reader = self.reader(answer, zone, vec![statement, answer], CONFIRMED_CONFIDENCE);
        // A yes confirms the last sentence.
        let last = sentences(&masked).pop().filter(|range| range.len() <= CONFIRMED_SENTENCE_MAX_BYTES);
        if let Some(range) = last
            && let Some(sentence) = in_first_person(&assertion::normalise_sentence(&masked[range.clone()]))
        {
            reader.read(&sentence, &text[range]);
        }
        reader.facts
    }

    fn reader<'r>(
        &'r self,
        turn: &'r Record,
        zone: &'r TimeZone,
        evidence: Vec<&'r Record>,
        confidence: f64,
    ) -> SentenceReader<'r> {
        let utterance = Utterance {
            subject: subject(turn).to_owned(),
            said_at: turn.occurred_at,
            sequence: turn.source.sequence,
            evidence,
            confidence,
        };
        SentenceReader {
            patterns: &self.patterns,
            zone,
            utterance,
            message: String::new(),
            facts: Vec::new(),
            clauses: ClauseContext::default(),
            last_sentence_start: 0,
            is_denied: false,
        }
    }
}

#[async_trait]
impl FactExtractor for RuleFacts {
    async fn extract(&self, turns: &[Record], locale: &Locale) -> Result<Facts> {
        Ok(Facts { facts: self.facts_in(turns, &locale.zone), degraded: None })
    }
}

/// Returns the subject of a turn's statements: the user, or a named speaker who is someone else. A speaker in the role
/// of the user is someone else if the user of the scope has a name without a word of the speaker's name.
fn subject(turn: &Record) -> &str {
    let Some(speaker) = turn.named_speaker() else { return ExtractedFact::USER };
    let is_user = match turn.role.as_ref().map(|role| role.as_str()) {
        None | Some("user") => {
            turn.scope.user_name().is_none_or(|user| user == DEFAULT_USER || shares_word(user, speaker))
        }
        Some(_) => false,
    };
    if is_user { ExtractedFact::USER } else { speaker }
}

/// Returns true if two names have a word in common, or if one contains the other.
fn shares_word(user: &str, speaker: &str) -> bool {
    let user = normalize(user);
    let speaker = normalize(speaker);
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let of_user = words(&user);
    words(&speaker).iter().any(|word| of_user.contains(word)) || user.contains(&speaker) || speaker.contains(&user)
}
