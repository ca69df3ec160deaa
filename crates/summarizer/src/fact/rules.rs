//! Facts by rules.

use std::{sync::Arc, sync::LazyLock};

use async_trait::async_trait;
use jiff::tz::{self, TimeZone};
use memory_engine_core::{Record, Result, Timestamp, text::is_han};
use memory_engine_temporal::{Exactness, windows};
use regex::Regex;

use crate::{
    Cardinality, Evidence, Fact, FactExtractor, FactKind, FactPatterns, Facts, Language, Polarity,
    echo::without_injected,
    fact::{guard, patterns::Pattern, plan::plans, relatives, slot::family},
    sentences,
    spoken::{self, FICTION},
};

/// Finds facts by patterns, in Chinese and English: without a model, and rather none than a wrong one.
///
/// It reads what people say of themselves in plain words. Questions, suppositions, reported speech, quotations, stage
/// directions and texts to be rewritten give nothing, nor do the model's words, unless the person answers them with a yes.
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
    zone: TimeZone,
    fiction: Vec<String>,
}

/// How sure a fact of the rules is.
const CONFIDENCE: f64 = 0.8;
/// A longer sentence is no plain statement, and a text is read so far.
const LONGEST_SENTENCE: usize = 600;
const LONGEST_TEXT: usize = 20_000;

static YES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:yes|yeah|yep|yup|right|correct|exactly|that's right|that's correct|indeed|对|是的|没错|对的|嗯嗯?|是啊|对啊|对呀|对对对?)(?:[,.!，。！~～\s]|$)").ok()
});
static BUT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:but|not|no longer|anymore|actually|though)\b|不|没|但|其实").ok());

/// What is known of a turn while its sentences are read.
struct Said<'r> {
    subject: &'r str,
    at: Timestamp,
    sequence: Option<i64>,
    evidence: Vec<&'r Record>,
    confidence: f64,
}

impl RuleFacts {
    /// The rules of the crate; relative dates are read in UTC+8, and the scenes `plot` and `meta` tell no facts.
    ///
    /// # Errors
    /// As [`FactPatterns::built_in`].
    pub fn built_in() -> Result<Self> {
        Ok(Self::new(FactPatterns::built_in()?))
    }

    /// Other patterns.
    pub fn new(patterns: FactPatterns) -> Self {
        let fiction = FICTION.iter().map(|scene| (*scene).to_owned()).collect();
        Self { patterns: Arc::new(patterns), zone: TimeZone::fixed(tz::offset(8)), fiction }
    }

    /// Another zone for what "tomorrow" means.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Other scenes in which nothing is true.
    #[must_use]
    pub fn with_fiction(mut self, scenes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.fiction = scenes.into_iter().map(Into::into).collect();
        self
    }

    /// The facts in turns that follow each other, oldest first; as [`FactExtractor::extract`], at once.
    pub fn facts(&self, turns: &[Record]) -> Vec<Fact> {
        let mut found = Vec::new();
        let mut before: Option<&Record> = None;
        for turn in turns {
            let real = spoken::is_said(turn) && !self.is_fiction(turn);
            if real && !spoken::is_assistant(turn) {
                let confirmed = before.filter(|asked| spoken::is_assistant(asked) && is_yes(&turn.text));
                found.extend(confirmed.into_iter().flat_map(|asked| self.confirmed(asked, turn)));
                found.extend(self.said(turn));
            }
            before = real.then_some(turn);
        }
        found
    }

    /// Whether a turn belongs to a scene in which nothing is true.
    pub(crate) fn is_fiction(&self, turn: &Record) -> bool {
        turn.scene.as_ref().is_some_and(|scene| self.fiction.contains(scene))
    }

    fn said(&self, turn: &Record) -> Vec<Fact> {
        let said = Said {
            subject: subject(turn),
            at: turn.occurred_at,
            sequence: turn.source.sequence,
            evidence: vec![turn],
            confidence: CONFIDENCE,
        };
        let mut own = without_injected(&turn.text);
        if own.len() > LONGEST_TEXT {
            let end = (0..=LONGEST_TEXT).rev().find(|at| own.is_char_boundary(*at)).unwrap_or(0);
            own.truncate(end);
        }
        let masked = guard::masked(&own);
        let mut found = Vec::new();
        for range in sentences(&masked) {
            if range.len() <= LONGEST_SENTENCE {
                let quote = &own[range.clone()];
                self.sentence(&guard::readied(&masked[range]), quote, &said, &mut found);
            }
        }
        found
    }

    /// What the model said of the person, and the person agreed to.
    fn confirmed(&self, asked: &Record, answer: &Record) -> Vec<Fact> {
        let said = Said {
            subject: subject(answer),
            at: answer.occurred_at,
            sequence: answer.source.sequence,
            evidence: vec![asked, answer],
            confidence: 0.7,
        };
        let own = without_injected(&asked.text);
        let masked = guard::masked(&own);
        // A yes answers what was said last.
        let Some(range) = sentences(&masked).pop().filter(|range| range.len() <= 200) else { return Vec::new() };
        let mut found = Vec::new();
        if let Some(turned) = turned(&guard::readied(&masked[range.clone()])) {
            self.sentence(&turned, &own[range], &said, &mut found);
        }
        found
    }

    fn sentence(&self, sentence: &str, quote: &str, said: &Said<'_>, found: &mut Vec<Fact>) {
        self.statement(sentence, quote, said, found);
        if let Some((relative, turned)) = relatives::turned(sentence) {
            let subject = format!("{}.{relative}", said.subject);
            let of_relative = Said { subject: &subject, evidence: said.evidence.clone(), ..*said };
            let mut theirs = Vec::new();
            self.statement(&turned, quote, &of_relative, &mut theirs);
            // What they are called is known already, as a fact of the speaker.
            theirs.retain(|fact| !["name", "nickname", "family"].contains(&family(&fact.slot)));
            // Nobody can tell which of several sisters is meant: what is said of one must not end what was said of another.
            if !relatives::is_only_one(&relative) {
                theirs.iter_mut().for_each(|fact| fact.cardinality = Cardinality::Many);
            }
            found.extend(theirs);
        }
    }

    fn statement(&self, sentence: &str, quote: &str, said: &Said<'_>, found: &mut Vec<Fact>) {
        if !guard::is_serious(sentence) {
            return;
        }
        let mut add = |fact: Fact| {
            let same = |known: &Fact| {
                known.subject == fact.subject
                    && known.slot == fact.slot
                    && known.polarity == fact.polarity
                    && known.value_key() == fact.value_key()
            };
            if !found.iter().any(same) {
                found.push(fact);
            }
        };
        for pattern in self.patterns.fitting(sentence) {
            for (slot, value, language) in read(pattern, sentence) {
                let mut fact = self.fact(said, slot, value, pattern.polarity, quote);
                if pattern.bounded {
                    fact.valid_until = self.end(sentence, said.at);
                }
                add(self.told(fact, language));
            }
        }
        for plan in plans(sentence, said.at, &self.zone) {
            let slot = format!("plan.{}", plan.event);
            if plan.changed {
                let gone = self.fact(said, slot.clone(), Fact::ANY.into(), Polarity::Negative, quote);
                add(self.told(gone, plan.language));
            }
            if let Some(when) = plan.when {
                let mut fact = self.fact(said, slot, when.label, Polarity::Positive, quote);
                (fact.valid_from, fact.valid_until) = (Some(when.from), Some(when.until));
                add(self.told(fact, plan.language));
            }
        }
    }

    fn fact(&self, said: &Said<'_>, slot: String, value: String, polarity: Polarity, quote: &str) -> Fact {
        let known = self.patterns.slot(&slot);
        let evidence =
            said.evidence.iter().map(|record| Evidence { record: record.id, quote: quote.trim().to_owned() });
        Fact {
            subject: said.subject.to_owned(),
            kind: known.map_or(FactKind::Fact, |known| known.kind),
            cardinality: known.map_or(Cardinality::Many, |known| known.cardinality()),
            slot,
            value,
            polarity,
            valid_from: None,
            valid_until: None,
            said_at: said.at,
            sequence: said.sequence,
            evidence: evidence.collect(),
            text: String::new(),
            confidence: said.confidence,
        }
    }

    fn told(&self, mut fact: Fact, language: Language) -> Fact {
        if let Some(slot) = self.patterns.slot(&fact.slot) {
            fact.text = slot.tell(&fact, language);
        }
        fact
    }

    /// The end of the stretch of time that a sentence names, if it is to come.
    fn end(&self, sentence: &str, said: Timestamp) -> Option<Timestamp> {
        let ahead =
            windows(sentence, said, &self.zone).into_iter().filter(|window| window.exactness != Exactness::Rough);
        ahead.map(|window| window.until).filter(|until| *until > said).max()
    }
}

#[async_trait]
impl FactExtractor for RuleFacts {
    async fn extract(&self, turns: &[Record]) -> Result<Facts> {
        Ok(Facts { facts: self.facts(turns), degraded: None })
    }
}

/// Whom a turn tells of: the user, or whoever speaks by another role.
fn subject(turn: &Record) -> &str {
    match turn.role.as_ref().map(|role| role.as_str()) {
        None | Some("user") => Fact::USER,
        Some(_) => turn.named_speaker().unwrap_or(Fact::USER),
    }
}

/// The values of a pattern in a sentence, each with its slot and its language.
fn read(pattern: &Pattern, sentence: &str) -> Vec<(String, String, Language)> {
    let mut found = Vec::new();
    let asked = sentence.trim_end().ends_with(['?', '？']);
    for captures in pattern.find.captures_iter(sentence) {
        let Some(whole) = captures.get(0) else { continue };
        let (mut end, mut value) = (whole.end(), captures.name("v").map(|value| value.as_str()));
        // Before a question only what stands before its comma is stated.
        let named = captures.name("v").filter(|_| asked);
        if let Some((named, comma)) = named.and_then(|named| Some((named, named.as_str().find([',', '，'])?))) {
            (end, value) = (named.start() + comma, Some(&named.as_str()[..comma]));
        }
        if !guard::is_stated(sentence, whole.start()..end) {
            continue;
        }
        let which = captures.name("r").map(|which| relatives::one_name(&which.as_str().to_lowercase()).to_owned());
        if which.as_deref().is_some_and(|which| !is_category(which)) {
            continue;
        }
        let slot = which.map_or(pattern.slot.clone(), |which| format!("{}.{which}", pattern.slot));
        let values = match (&pattern.value, value) {
            (Some(fixed), _) => vec![fixed.value(pattern.language).to_owned()],
            (None, Some(value)) => pattern.read.values(value),
            (None, None) => Vec::new(),
        };
        for value in values {
            // Patterns of letters only, such as of languages, serve both.
            let language = if value.chars().any(is_han) { Language::Chinese } else { pattern.language };
            found.push((slot.clone(), value, language));
        }
    }
    found
}

/// Whether a favourite can be of that sort: a part or a moment of something is no lasting one.
fn is_category(which: &str) -> bool {
    let last = which.rsplit(' ').next().unwrap_or(which);
    !matches!(
        last,
        "part"
            | "thing"
            | "one"
            | "way"
            | "time"
            | "moment"
            | "of"
            | "was"
            | "is"
            | "to"
            | "and"
            | "so"
            | "ones"
            | "memory"
            | "memories"
            | "about"
            | "in"
            | "at"
            | "things"
    ) && !["人", "事", "一个", "就", "地方", "那个", "东西"].contains(&which)
}

fn is_yes(text: &str) -> bool {
    let first = sentences(text).first().map(|range| &text[range.clone()]).unwrap_or_default();
    YES.as_ref().is_some_and(|yes| yes.is_match(first)) && !BUT.as_ref().is_some_and(|but| but.is_match(first))
}

/// A sentence about "you" as a statement of "I"; nothing when it is about nobody.
fn turned(sentence: &str) -> Option<String> {
    let sentence = sentence.trim().trim_end_matches(['?', '？', '.', '!', '。', '！']).trim();
    if sentence.contains(['你', '您']) {
        let mut bare = sentence.replace(['你', '您'], "我");
        for tail in ["对吧", "是吧", "对吗", "是吗", "吗", "对不对", "是不是", "，", "呢"] {
            bare = bare.strip_suffix(tail).unwrap_or(&bare).to_owned();
        }
        let start = bare.rfind(['，', ',']).map_or(0, |at| at + bare[at..].chars().next().map_or(1, char::len_utf8));
        let clause = bare[start..].trim();
        let clause = ["所以", "我记得", "记得", "那么", "那", "原来"]
            .iter()
            .find_map(|lead| clause.strip_prefix(lead))
            .unwrap_or(clause);
        return Some(clause.to_owned());
    }
    static YOU: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:you're|you are|are you)\b|\byou've\b|\b(?:do|did) you\b|\byou\b|\byour\b").ok()
    });
    let tail = Regex::new(r"(?i),? (?:right|correct|isn't it|aren't you|don't you|yes)$").ok()?;
    let lead = Regex::new(r"(?i)^(?:so|and|then|right|ah|oh|wait|just to confirm|to confirm|if i remember correctly|i remember(?: that)?|i think|i believe)[, ]+").ok()?;
    let bare = tail.replace(sentence, "");
    let bare = lead.replace(&bare, "");
    let you = YOU.as_ref()?;
    you.is_match(&bare).then(|| {
        let said = |found: &regex::Captures<'_>| match found[0].to_lowercase().as_str() {
            "you're" | "you are" | "are you" => "I'm",
            "you've" => "I've",
            "your" => "my",
            _ => "I",
        };
        you.replace_all(&bare, said).into_owned()
    })
}
