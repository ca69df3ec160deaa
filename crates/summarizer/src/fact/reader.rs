//! Extracts the facts of one sentence by the rules.

use jiff::tz::TimeZone;
use memory_engine_core::{Language, Record, Timestamp};
use memory_engine_temporal::{Exactness, windows};
use memory_engine_text::Captures;

use crate::{
    fact::{
        assertion,
        claim::Claim,
        clauses::{self, ClauseContext, ClauseStatement, ClauseSubject},
        introductions,
        patterns::{FactPattern, FactPatterns, FactRule, PatternCandidate},
        plan::appointments,
        relatives, restatements,
        slot::{Slot, family},
        takebacks::{self, take_back},
        types::{Cardinality, ExtractedFact, FactEvidence, FactKind, Polarity},
        value::is_category,
    },
    text::has_han,
};

/// Slots that a statement about a relative does not fill: the name of a relative is a fact about the speaker.
const SPEAKER_ONLY_SLOTS: [&str; 5] = ["name", "nickname", "family", ExtractedFact::WISH, ExtractedFact::REMEMBERED];

/// The subject and the source of the statements of a turn.
#[derive(Debug, Clone)]
pub(super) struct Utterance<'r> {
    pub(super) subject: String,
    pub(super) said_at: Timestamp,
    pub(super) sequence: Option<i64>,
    pub(super) evidence: Vec<&'r Record>,
    pub(super) confidence: f64,
}

/// Collects the facts of the sentences of one utterance.
#[derive(Debug)]
pub(super) struct SentenceReader<'r> {
    pub(super) patterns: &'r FactPatterns,
    pub(super) zone: &'r TimeZone,
    pub(super) utterance: Utterance<'r>,
    /// The message of the sentences.
    pub(super) message: String,
    pub(super) facts: Vec<ExtractedFact>,
    pub(super) clauses: ClauseContext,
    /// The number of facts before the last sentence that was read.
    pub(super) last_sentence_start: usize,
    /// True for a statement that the sentence denies. What it takes for granted is not denied.
    pub(super) is_denied: bool,
}

impl SentenceReader<'_> {
    /// Reads a normalised sentence. `quote` is the original sentence.
    pub(super) fn read(&mut self, sentence: &str, quote: &str) {
        let spelled_out = clauses::spelled_out(sentence);
        let sentence = spelled_out.as_str();
        if takebacks::is_joke(sentence) {
            self.facts.truncate(self.last_sentence_start);
            return;
        }
        self.last_sentence_start = self.facts.len();
        let taken_back = take_back(sentence);
        for statement in &taken_back.denied {
            let mut reader = self.for_denial();
            let statements = statements(&mut reader.clauses, statement);
            self.add_denials(reader, &statements, quote, |_| true);
        }
        if let Some(topic) = taken_back.topic.filter(|_| self.facts.len() == self.last_sentence_start) {
            self.withdraw(topic, quote);
        }
        let sentence = taken_back.rest.as_str();
        if !assertion::may_state_facts(sentence) {
            self.clauses = ClauseContext::default();
            return;
        }
        for statement in statements(&mut self.clauses, sentence) {
            self.read_statement(&statement, quote, self.last_sentence_start);
            let may_deny = statement.is_explicit && !sentence.ends_with(['?', '？']);
            let denied = takebacks::denied(&statement.text).filter(|_| may_deny);
            if let Some(text) = denied {
                let denied = ClauseStatement { text, ..statement };
                self.add_denials(self.for_denial(), &[denied], quote, takebacks::is_deniable);
            }
        }
        for restated in restatements::statements(sentence) {
            for statement in statements(&mut ClauseContext::default(), &restated) {
                self.read_statement(&statement, quote, self.last_sentence_start);
            }
        }
        self.remove_repeated_words();
    }

    /// Removes from the facts of the last sentence wishes that are part of another one, and the words to remember if
    /// another rule read a fact in them.
    fn remove_repeated_words(&mut self) {
        let facts = self.facts.split_off(self.last_sentence_start);
        let is_repeated = |fact: &&ExtractedFact| match fact.slot.as_str() {
            ExtractedFact::WISH => {
                facts.iter().any(|other| other.value != fact.value && other.includes_statement(fact))
            }
            ExtractedFact::REMEMBERED => facts.iter().any(|other| other.slot != fact.slot),
            _ => false,
        };
        self.facts.extend(facts.iter().filter(|fact| !is_repeated(fact)).cloned());
    }

    /// Returns a reader for statements that the sentence denies.
    fn for_denial(&self) -> Self {
        SentenceReader {
            utterance: self.utterance.clone(),
            message: String::new(),
            facts: Vec::new(),
            clauses: ClauseContext::default(),
            is_denied: true,
            ..*self
        }
    }

    /// Adds the denial of each fact that the statements would state.
    fn add_denials(
        &mut self,
        mut reader: Self,
        statements: &[ClauseStatement],
        quote: &str,
        is_deniable: fn(&str) -> bool,
    ) {
        for statement in statements {
            reader.read_statement(statement, quote, 0);
        }
        for mut fact in reader.facts {
            if fact.polarity == Polarity::Positive && is_deniable(family(&fact.slot)) {
                let language = Language::of(&fact.text);
                let [rule, _] = takebacks::rule_ids(language);
                fact.polarity = Polarity::Negative;
                fact.rule = Some(rule.clone());
                (fact.valid_from, fact.valid_until) = (None, None);
                fact.text = self.patterns.slot(&fact.slot).map(|slot| slot.render(&fact, language)).unwrap_or_default();
                self.add(fact);
            }
        }
    }

    /// Adds the fact that the person took back what was said about a subject.
    fn withdraw(&mut self, topic: String, quote: &str) {
        let language = if has_han(&topic) { Language::Chinese } else { Language::English };
        let [_, rule] = takebacks::rule_ids(language);
        let claim = Claim {
            rule: rule.clone(),
            slot: ExtractedFact::WITHDRAWN.to_owned(),
            value: topic,
            polarity: Polarity::Negative,
            language,
            replaces: false,
            valid_from: None,
            valid_until: None,
        };
        let fact = self.to_fact(claim, &ClauseSubject::Speaker, quote);
        self.add(fact);
    }

    /// Adds the names of relatives that a normalised message introduces by a pronoun.
    pub(super) fn read_introductions(&mut self, message: &str, quote: &str) {
        let message_start = self.facts.len();
        for statement in introductions::statements(message) {
            self.read_statement(&statement, quote, message_start);
        }
    }

    /// Adds the facts of a statement. The facts from index `sentence_start` on are those of the same sentence: a less
    /// exact value than theirs is left out.
    fn read_statement(&mut self, statement: &ClauseStatement, quote: &str, sentence_start: usize) {
        let sentence = &statement.text;
        let mut claims: Vec<Claim> = Vec::new();
        let candidates = self.patterns.candidates(sentence);
        let is_of_relative = matches!(statement.subject, ClauseSubject::Relative(_));
        let is_usable = |rule: &FactRule| {
            (statement.is_explicit || !rule.explicit)
                && (is_of_relative || !rule.relative)
                && !(self.is_denied && rule.presupposed)
        };
        for candidate in candidates.filter(|candidate| is_usable(&candidate.pattern.rule)) {
            let candidate_claims = self.claims(&candidate, sentence);
            if !candidate_claims.is_empty() && !candidate.is_excluded_by(&self.message) {
                claims.extend(candidate_claims);
            }
        }
        let appointments = appointments(sentence, self.utterance.said_at, self.zone);
        claims.extend(appointments.into_iter().flat_map(|appointment| appointment.claims()));
        for claim in claims {
            let replaces = claim.replaces;
            let mut fact = self.to_fact(claim, &statement.subject, quote);
            if let ClauseSubject::Relative(relative) = &statement.subject {
                if SPEAKER_ONLY_SLOTS.contains(&family(&fact.slot)) {
                    continue;
                }
                // A fact about one of several sisters must not end a fact about another.
                if !replaces && !relatives::is_unique(relative) {
                    fact.cardinality = Cardinality::Many;
                }
            }
            let is_known = self.facts[sentence_start..].iter().any(|known| known.includes_statement(&fact));
            if !is_known {
                self.add(fact);
            }
        }
    }

    /// Adds a fact, unless the message stated it before.
    fn add(&mut self, fact: ExtractedFact) {
        if !self.facts.iter().any(|known| known.is_same_statement(&fact)) {
            self.facts.push(fact);
        }
    }

    /// Returns the claims of a pattern in a sentence.
    fn claims(&self, candidate: &PatternCandidate<'_>, sentence: &str) -> Vec<Claim> {
        let pattern = candidate.pattern;
        let found = candidate.captures_iter(sentence);
        let found = found.filter_map(|found| read_match(pattern, sentence, &found));
        let values = found.flat_map(|(slot, values)| values.into_iter().map(move |value| (slot.clone(), value)));
        let claim = |(slot, value): (String, String)| Claim {
            rule: pattern.id.clone(),
            slot,
            polarity: pattern.rule.polarity,
            // Patterns without words, such as those of languages, serve both languages.
            language: if has_han(&value) { Language::Chinese } else { pattern.language },
            value,
            replaces: pattern.rule.replaces,
            valid_from: None,
            valid_until: if pattern.rule.bounded { self.stated_end(sentence) } else { None },
        };
        values.map(claim).collect()
    }

    /// Returns the end of the time that a sentence names, if it is in the future.
    fn stated_end(&self, sentence: &str) -> Option<Timestamp> {
        let said_at = self.utterance.said_at;
        let windows = windows(sentence, said_at, self.zone).into_iter();
        let exact = windows.filter(|window| window.exactness != Exactness::Rough);
        exact.map(|window| window.until).filter(|until| *until > said_at).max()
    }

    fn to_fact(&self, claim: Claim, subject: &ClauseSubject, quote: &str) -> ExtractedFact {
        let person = &self.utterance.subject;
        let slot = self.patterns.slot(&claim.slot);
        let evidence = |record: &&Record| FactEvidence { record: record.id, quote: quote.trim().to_owned() };
        let mut fact = ExtractedFact {
            subject: match subject {
                ClauseSubject::Relative(relative) => format!("{person}.{relative}"),
                ClauseSubject::Speaker | ClauseSubject::Other => person.clone(),
            },
            slot: claim.slot,
            value: claim.value,
            polarity: claim.polarity,
            cardinality: slot.map_or(Cardinality::Many, Slot::cardinality),
            kind: slot.map_or(FactKind::Fact, |slot| slot.kind),
            valid_from: claim.valid_from,
            valid_until: claim.valid_until,
            said_at: self.utterance.said_at,
            sequence: self.utterance.sequence,
            evidence: self.utterance.evidence.iter().map(evidence).collect(),
            text: String::new(),
            confidence: self.utterance.confidence,
            rule: Some(claim.rule),
            corrects: None,
        };
        fact.text = slot.map(|slot| slot.render(&fact, claim.language)).unwrap_or_default();
        fact
    }
}

/// Returns the statements of a sentence: the sentence itself, and its clauses.
fn statements(context: &mut ClauseContext, sentence: &str) -> Vec<ClauseStatement> {
    let bare = clauses::in_singular(sentence.trim_end_matches(['。', '.', '!', '！', '~']));
    let clauses = clauses::statements(context, sentence);
    let other: Vec<ClauseStatement> = clauses.into_iter().filter(|statement| statement.text != bare).collect();
    let whole = ClauseStatement { subject: ClauseSubject::Speaker, is_explicit: true, text: bare };
    std::iter::once(whole).chain(other).collect()
}

/// Returns the slot and the values of a match, or `None` if it states nothing.
fn read_match(pattern: &FactPattern, sentence: &str, found: &Captures<'_>) -> Option<(String, Vec<String>)> {
    let whole = found.get(0)?;
    let mut end = whole.end();
    let mut value = found.name("v").map(|value| value.as_str());
    let is_question = sentence.trim_end().ends_with(['?', '？']);
    // In a question, only the part before the comma is stated.
    if let Some(named) = found.name("v").filter(|_| is_question)
        && let Some(comma) = named.as_str().find([',', '，'])
    {
        end = named.start() + comma;
        value = Some(&named.as_str()[..comma]);
    }
    let is_stated = if pattern.rule.presupposed {
        assertion::is_upheld(sentence, end)
    } else {
        assertion::is_stated(sentence, whole.start()..end)
    };
    if !is_stated || (pattern.rule.request && !assertion::begins_clause(sentence, whole.start())) {
        return None;
    }
    let slot = match found.name("r") {
        Some(part) => {
            let part = relatives::canonical_name(&part.as_str().to_lowercase()).to_owned();
            if !is_category(&part) {
                return None;
            }
            format!("{}.{part}", pattern.rule.slot)
        }
        None => pattern.rule.slot.clone(),
    };
    let values = match &pattern.rule.value {
        Some(fixed) => vec![fixed.in_language(pattern.language).to_owned()],
        None => value.map(|value| pattern.rule.read.values(value)).unwrap_or_default(),
    };
    Some((slot, values))
}
