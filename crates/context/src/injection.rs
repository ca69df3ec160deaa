//! Rules that decide which memories a message calls for.

use std::{fmt, time::Duration};

use memory_engine_core::{Error, Language, Phrases, Result, RuleId, enum_names, phrases::fold};
use serde::{Deserialize, Serialize};

use crate::{
    backchannel::is_backchannel,
    triggers::{PreparedText, Trigger, triggers_for},
    weak_question::weak_question,
};

/// Rules that select the memories to inject for a message, without a model.
///
/// The first rule that applies decides, in this order: a first message that leans on the conversation before it, a
/// question about the story in the scene of the story, a question about the past, a feeling, and any other message with
/// content. A message without content ("ok thanks!") is not searched for. In addition, every injection has the core. In
/// a `silent` scene nothing is injected.
///
/// Triggers are built in for Chinese and English; the Chinese ones are those of the chat gateway's document. The
/// language of the message selects the triggers.
///
/// Every rule can be changed in TOML: a list replaces the built-in triggers of both languages, `more_words` adds to
/// them.
///
/// ```
/// use memory_engine_context::{InjectionRules, IncomingMessage, Rule};
///
/// let rules = InjectionRules::from_toml("[recall]\nmore_words = ['flashback']")?;
/// let decide = |text| rules.decide(&IncomingMessage { round: 3, scene: "daily", text }).rule;
/// assert_eq!(decide("Do you remember my dog's name?"), Rule::Recall);
/// assert_eq!(decide("还记得我的狗叫什么吗"), Rule::Recall);
/// assert_eq!(decide("Flashback!"), Rule::Recall);
/// assert_eq!(decide("Have you eaten?"), Rule::Relevant);
/// assert_eq!(decide("😀"), Rule::Nothing);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct InjectionRules {
    /// Scenes in which nothing is injected. Default: `meta`.
    pub silent: Vec<String>,
    /// The core: the memories that each injection has.
    pub core: CoreRule,
    /// The first message of a conversation.
    pub cold_start: ColdStartRule,
    /// A question about the story.
    pub plot_recall: PlotRecallRule,
    /// A question about the past.
    pub recall: RecallRule,
    /// A feeling.
    pub emotion: EmotionRule,
    /// Any other message.
    pub relevant: RelevantRule,
}

/// The rule for the core: pinned memories, and facts that belong in every prompt, such as allergies. Each injection has
/// it, also if no other rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CoreRule {
    /// True if the rule is on. Without it, pinned memories are still injected. Default: true.
    pub enabled: bool,
    /// Maximum number of tokens of the memories of the core. Default: 120.
    pub max_tokens: usize,
}

/// The rule for the first message of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ColdStartRule {
    /// True if the rule is on. Default: true.
    pub enabled: bool,
    /// True if it applies to every first message; false if only to one that leans on the conversation before it, such
    /// as "and then?". Default: false.
    pub always: bool,
    /// Number of latest summaries to inject. Default: 2.
    pub summaries: usize,
    /// Number of latest rounds to inject, word for word. Default: 3.
    pub rounds: usize,
}

/// The rule for questions about the story. It applies within one scene only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlotRecallRule {
    /// True if the rule is on. Default: true.
    pub enabled: bool,
    /// The scene of the story. Default: `plot`.
    pub scene: String,
    /// Phrases that replace the built-in triggers of every language. Default: `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<String>>,
    /// Phrases that count in addition, in every language. Default: none.
    pub more_words: Vec<String>,
}

/// The rule for questions about the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RecallRule {
    /// True if the rule is on. Default: true.
    pub enabled: bool,
    /// Phrases that replace the built-in triggers of every language. Default: `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<String>>,
    /// Phrases that count in addition, in every language. Default: none.
    pub more_words: Vec<String>,
}

/// The rule for feelings: it asks for recent memories with the same feeling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct EmotionRule {
    /// True if the rule is on. Default: true.
    pub enabled: bool,
    /// Maximum age of the memories, in days. Default: 3.
    pub days: u32,
    /// Feelings that replace the built-in ones of every language; the first that fits counts. Default: `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emotions: Option<Vec<EmotionWords>>,
}

/// The rule for messages that no other rule applies to: the memories that are relevant to them are injected. The first
/// message of a conversation and a message with a feeling get them in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RelevantRule {
    /// True if the rule is on. Default: true.
    pub enabled: bool,
}

/// A feeling with the words that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmotionWords {
    /// The label of records with this feeling.
    pub name: String,
    /// The words; a message with one of them shows the feeling.
    pub words: Vec<String>,
}

impl Default for InjectionRules {
    fn default() -> Self {
        Self {
            silent: vec!["meta".into()],
            core: CoreRule::default(),
            cold_start: ColdStartRule::default(),
            plot_recall: PlotRecallRule::default(),
            recall: RecallRule::default(),
            emotion: EmotionRule::default(),
            relevant: RelevantRule::default(),
        }
    }
}

impl Default for CoreRule {
    fn default() -> Self {
        Self { enabled: true, max_tokens: 120 }
    }
}

impl Default for RelevantRule {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for ColdStartRule {
    fn default() -> Self {
        Self { enabled: true, always: false, summaries: 2, rounds: 3 }
    }
}

impl Default for PlotRecallRule {
    fn default() -> Self {
        Self { enabled: true, scene: "plot".into(), words: None, more_words: Vec::new() }
    }
}

impl Default for RecallRule {
    fn default() -> Self {
        Self { enabled: true, words: None, more_words: Vec::new() }
    }
}

impl Default for EmotionRule {
    fn default() -> Self {
        Self { enabled: true, days: 3, emotions: None }
    }
}

/// A message of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncomingMessage<'m> {
    /// Number of its round within the conversation, from 1.
    pub round: u64,
    /// Its scene.
    pub scene: &'m str,
    /// Its text.
    pub text: &'m str,
}

/// The rule that applies to a message, and the memories that it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InjectionDecision {
    /// The rule.
    pub rule: Rule,
    /// The memories to inject.
    pub action: Action,
    /// The phrase in the message that decided, if one did.
    pub word: Option<String>,
    /// The built-in trigger that the phrase belongs to, such as `en.recall.remember`. `None` for words of the caller.
    pub trigger: Option<RuleId>,
    /// The search text, if it differs from the message: an English question without the words that only appeal to the
    /// memory ("my dog's name?").
    pub search_text: Option<String>,
}

/// A rule of injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// The first message of a conversation.
    ColdStart,
    /// A question about the story.
    PlotRecall,
    /// A question about the past.
    Recall,
    /// A feeling.
    Emotion,
    /// Another message that memories are relevant to.
    Relevant,
    /// None of these.
    Nothing,
}

enum_names! {
    Rule, "rule of injection" {
        ColdStart => "cold_start",
        PlotRecall => "plot_recall",
        Recall => "recall",
        Emotion => "emotion",
        Relevant => "relevant",
        Nothing => "nothing",
    }
}

/// The memories to inject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The latest summaries and rounds.
    Latest {
        /// Number of summaries.
        summaries: usize,
        /// Number of rounds.
        rounds: usize,
        /// True if the results of a search with the message are added.
        search: bool,
    },
    /// The relevant results of a search with the message, in the scenes that are visible from its scene.
    Search,
    /// The results of a search with the message in this scene.
    SearchScene(String),
    /// The statements of the user in the conversation before this one, or its summaries if there are too many: the
    /// message asks what it was about and names no topic.
    PreviousSession,
    /// The profile and the latest facts of the user, or the conversation before this one if there are none: the
    /// message asks what is stored about the user ("What do you know about me?").
    AboutUser,
    /// Recent turns with the same feeling.
    SameEmotion {
        /// The label of records with this feeling.
        emotion: String,
        /// Words that show the feeling, to search for.
        words: Vec<String>,
        /// Maximum age of the turns.
        within: Duration,
        /// True if the results of a search with the message come first.
        search: bool,
    },
    /// Nothing.
    Nothing,
}

impl Action {
    /// The name, such as `search_scene`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Latest { .. } => "latest",
            Self::Search => "search",
            Self::SearchScene(_) => "search_scene",
            Self::PreviousSession => "previous_session",
            Self::AboutUser => "about_user",
            Self::SameEmotion { .. } => "same_emotion",
            Self::Nothing => "nothing",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl InjectionRules {
    /// Returns the rules of the chat gateway's document.
    #[must_use]
    pub fn of_document() -> Self {
        Self::default().as_in_document()
    }

    /// Returns these rules with what the chat gateway's document has otherwise: the latest summaries and rounds with
    /// each first message, and neither a core nor what is merely relevant.
    #[must_use]
    pub fn as_in_document(mut self) -> Self {
        self.core.enabled = false;
        self.cold_start.always = true;
        self.relevant.enabled = false;
        self
    }

    /// Returns true if nothing is injected in a scene.
    pub fn is_silent(&self, scene: &str) -> bool {
        self.silent.iter().any(|silent| silent == scene)
    }

    /// Reads rules from TOML. What it does not set stays at the default.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for bad TOML or an unknown field, and for an empty phrase.
    pub fn from_toml(text: &str) -> Result<Self> {
        let rules: Self =
            toml::from_str(text).map_err(|e| Error::invalid("injection rules", e.to_string().trim_end()))?;
        rules.validate()?;
        Ok(rules)
    }

    /// Checks that no phrase is empty: it would match every message.
    ///
    /// # Errors
    /// `InvalidInput` for an empty phrase.
    pub fn validate(&self) -> Result<()> {
        let emotions = self.emotion.emotions.iter().flatten().map(|emotion| ("emotion", Some(&emotion.words)));
        let lists = [
            ("plot_recall", self.plot_recall.words.as_ref()),
            ("plot_recall", Some(&self.plot_recall.more_words)),
            ("recall", self.recall.words.as_ref()),
            ("recall", Some(&self.recall.more_words)),
        ];
        for (rule, words) in lists.into_iter().chain(emotions) {
            if words.into_iter().flatten().any(|word| fold(word).is_empty()) {
                let message = format!("a word of '{rule}' is empty and would match every message; remove it");
                return Err(Error::invalid("injection rules", message));
            }
        }
        Ok(())
    }

    /// Decides which memories a message calls for, by the triggers of its language.
    pub fn decide(&self, message: &IncomingMessage<'_>) -> InjectionDecision {
        self.decide_in(message, Language::of(message.text))
    }

    /// Decides which memories a message calls for, by the triggers of this language. With English, the Chinese triggers
    /// count after the English ones.
    pub fn decide_in(&self, message: &IncomingMessage<'_>, language: Language) -> InjectionDecision {
        if self.is_silent(message.scene) {
            return InjectionDecision::nothing();
        }
        let text = PreparedText::new(message.text);
        let searches_relevant =
            self.relevant.enabled && message.text.chars().any(char::is_alphanumeric) && !is_backchannel(message.text);
        let question =
            self.plot_recall_decision(message.scene, &text, language).or_else(|| self.recall_decision(&text, language));
        let is_first = self.cold_start.enabled && message.round <= 1;
        let continuation = is_first.then(|| continuation(&text, language)).flatten();
        if is_first && (self.cold_start.always || continuation.is_some()) {
            let ColdStartRule { summaries, rounds, .. } = self.cold_start;
            let action = Action::Latest { summaries, rounds, search: searches_relevant || question.is_some() };
            let search_text = question.and_then(|question| question.search_text);
            let (word, trigger) = continuation.map(|fired| (fired.word, fired.trigger)).unzip();
            let trigger = trigger.flatten();
            return InjectionDecision { rule: Rule::ColdStart, action, word, trigger, search_text };
        }
        if let Some(decision) = question.or_else(|| self.emotion_decision(&text, language)) {
            return decision;
        }
        if searches_relevant {
            return InjectionDecision { rule: Rule::Relevant, action: Action::Search, ..InjectionDecision::nothing() };
        }
        InjectionDecision::nothing()
    }

    /// Returns the ids of the built-in triggers of a language.
    pub fn built_in_triggers(language: Language) -> Vec<RuleId> {
        triggers_for(language).into_iter().take(1).flat_map(|triggers| triggers.ids().cloned()).collect()
    }

    fn plot_recall_decision(&self, scene: &str, text: &PreparedText, language: Language) -> Option<InjectionDecision> {
        let rule = &self.plot_recall;
        if !rule.enabled || scene != rule.scene {
            return None;
        }
        let built_in = || triggers_for(language).into_iter().flat_map(|triggers| &triggers.plot_recall);
        let fired = FiredTrigger::find(rule.words.as_ref(), &rule.more_words, built_in, text)?;
        Some(fired.decision(Rule::PlotRecall, Action::SearchScene(rule.scene.clone())))
    }

    fn recall_decision(&self, text: &PreparedText, language: Language) -> Option<InjectionDecision> {
        let rule = &self.recall;
        if !rule.enabled {
            return None;
        }
        let built_in = || triggers_for(language).into_iter().flat_map(|triggers| &triggers.recall);
        if rule.words.is_none()
            && let Some(decision) = vague_recall_decision(text, language)
        {
            return Some(decision);
        }
        let fired = FiredTrigger::find(rule.words.as_ref(), &rule.more_words, built_in, text)?;
        Some(fired.decision(Rule::Recall, Action::Search))
    }

    fn emotion_decision(&self, text: &PreparedText, language: Language) -> Option<InjectionDecision> {
        let EmotionRule { enabled, days, emotions } = &self.emotion;
        if !*enabled {
            return None;
        }
        let max_age = Duration::from_secs(u64::from(*days) * 24 * 60 * 60);
        let action = |name: &str, words: &[String]| Action::SameEmotion {
            emotion: name.to_owned(),
            words: words.to_vec(),
            within: max_age,
            search: self.relevant.enabled,
        };
        if let Some(emotions) = emotions {
            return emotions.iter().find_map(|emotion| {
                let fired = FiredTrigger::find_words(&emotion.words, text)?;
                Some(fired.decision(Rule::Emotion, action(&emotion.name, &emotion.words)))
            });
        }
        let mut built_in = triggers_for(language).into_iter().flat_map(|triggers| &triggers.emotions);
        built_in.find_map(|emotion| {
            let fired = FiredTrigger::find_trigger(&emotion.trigger, text)?;
            Some(fired.decision(Rule::Emotion, action(&emotion.name, &emotion.words)))
        })
    }
}

/// Returns the words by which a message continues a conversation that is not before it: "and then?", "as I said".
fn continuation(text: &PreparedText, language: Language) -> Option<FiredTrigger> {
    let mut continuations = triggers_for(language).into_iter().flat_map(|triggers| &triggers.continuations);
    continuations.find(|trigger| trigger.fires(text)).and_then(|trigger| FiredTrigger::find_trigger(trigger, text))
}

/// Decides about a question that names no topic: about the conversation before this one, or about the user in general.
fn vague_recall_decision(text: &PreparedText, language: Language) -> Option<InjectionDecision> {
    let whole_message = |triggers: &'static [Trigger], action: Action| {
        let trigger = triggers.iter().find(|trigger| trigger.is_whole_message(text))?;
        Some(FiredTrigger::find_trigger(trigger, text)?.decision(Rule::Recall, action))
    };
    triggers_for(language).into_iter().find_map(|triggers| {
        whole_message(&triggers.previous_session, Action::PreviousSession)
            .or_else(|| {
                let (id, word) = triggers.session_questions.iter().find_map(|question| {
                    let word = question.find(&text.folded)?;
                    Some((question.id.clone(), word.to_owned()))
                })?;
                let fired = FiredTrigger { word, trigger: Some(id), search_text: None };
                Some(fired.decision(Rule::Recall, Action::PreviousSession))
            })
            .or_else(|| whole_message(&triggers.about_user, Action::AboutUser))
    })
}

/// A phrase that a message contains, and the built-in trigger that it belongs to.
struct FiredTrigger {
    word: String,
    trigger: Option<RuleId>,
    search_text: Option<String>,
}

impl FiredTrigger {
    /// Tries the caller's words, or the built-in triggers if `words` is `None`, and then the additional words.
    fn find<'t, I: Iterator<Item = &'t Trigger>>(
        words: Option<&Vec<String>>,
        more_words: &[String],
        built_in: impl FnOnce() -> I,
        text: &PreparedText,
    ) -> Option<Self> {
        let fired = match words {
            Some(words) => Self::find_words(words, text),
            None => built_in().find_map(|trigger| Self::find_trigger(trigger, text)),
        };
        fired.or_else(|| Self::find_words(more_words, text))
    }

    fn find_words(words: &[String], text: &PreparedText) -> Option<Self> {
        let word = Phrases::new(words).find_folded(&text.folded)?.to_owned();
        Some(Self { word, trigger: None, search_text: None })
    }

    fn find_trigger(trigger: &Trigger, text: &PreparedText) -> Option<Self> {
        let found = trigger.find(text)?;
        let search_text =
            found.search_text.filter(|rest| rest.chars().any(char::is_alphanumeric) && !weak_question(rest));
        Some(Self { word: found.phrase, trigger: Some(trigger.id.clone()), search_text })
    }

    fn decision(self, rule: Rule, action: Action) -> InjectionDecision {
        InjectionDecision { rule, action, word: Some(self.word), trigger: self.trigger, search_text: self.search_text }
    }
}

impl InjectionDecision {
    /// Returns the decision to inject nothing.
    pub fn nothing() -> Self {
        Self { rule: Rule::Nothing, action: Action::Nothing, word: None, trigger: None, search_text: None }
    }
}
