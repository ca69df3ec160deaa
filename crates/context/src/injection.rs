//! Whether a message calls for memories.

use std::time::Duration;

use memory_engine_core::{Error, Phrases, Result, phrases::fold};
use memory_engine_rule_data::{Words, data};
use serde::{Deserialize, Serialize};

/// When memories are injected without anybody asking for them: by rules, without a model.
///
/// The rules are those of the chat gateway's document, in this order: the first message of a conversation, a question about
/// the story within a plot, a question about the past, a feeling; otherwise nothing. In a scene that is `silent` nothing is
/// injected. Every part may be changed in TOML; a list takes the place of the default's, `more_words` adds to it.
///
/// ```
/// use memory_engine_context::{InjectionRules, Message, Rule};
///
/// let rules = InjectionRules::from_toml("[recall]\nmore_words = ['remember']")?;
/// let decide = |text| rules.decide(&Message { round: 3, scene: "daily", text }).rule;
/// assert_eq!(decide("Do you remember?"), Rule::Recall);
/// assert_eq!(decide("吃饭了吗"), Rule::Nothing);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct InjectionRules {
    /// Scenes in which nothing is injected.
    pub silent: Vec<String>,
    /// The first message of a conversation.
    pub cold_start: ColdStartRule,
    /// A question about the story.
    pub plot_recall: PlotRecallRule,
    /// A question about the past.
    pub recall: RecallRule,
    /// A feeling.
    pub emotion: EmotionRule,
}

/// The first message of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ColdStartRule {
    /// Whether the rule holds.
    pub enabled: bool,
    /// How many of the latest summaries are wanted.
    pub summaries: usize,
    /// How many of the latest rounds are wanted, as they were said.
    pub rounds: usize,
}

/// A question about the story: holds within one scene only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlotRecallRule {
    /// Whether the rule holds.
    pub enabled: bool,
    /// The scene.
    pub scene: String,
    /// A message with one of these words asks.
    pub words: Vec<String>,
    /// More of them.
    pub more_words: Vec<String>,
}

/// A question about the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RecallRule {
    /// Whether the rule holds.
    pub enabled: bool,
    /// A message with one of these words asks.
    pub words: Vec<String>,
    /// More of them.
    pub more_words: Vec<String>,
}

/// A feeling: what was said lately in the same one is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct EmotionRule {
    /// Whether the rule holds.
    pub enabled: bool,
    /// How many days count as lately.
    pub days: u32,
    /// The feelings, the first that fits counts.
    pub emotions: Vec<EmotionWords>,
}

/// A feeling with the words that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmotionWords {
    /// Its name, as records are labelled with.
    pub name: String,
    /// A message with one of these words shows it.
    pub words: Vec<String>,
}

/// The words of the default rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultWords {
    plot_recall: Words,
    recall: Words,
    emotions: Vec<EmotionWords>,
}

data!(WORDS: DefaultWords = "zh/injection.toml");

impl Default for InjectionRules {
    fn default() -> Self {
        Self {
            silent: vec!["meta".into()],
            cold_start: ColdStartRule::default(),
            plot_recall: PlotRecallRule::default(),
            recall: RecallRule::default(),
            emotion: EmotionRule::default(),
        }
    }
}

impl Default for ColdStartRule {
    fn default() -> Self {
        Self { enabled: true, summaries: 2, rounds: 3 }
    }
}

impl Default for PlotRecallRule {
    fn default() -> Self {
        Self { enabled: true, scene: "plot".into(), words: WORDS.plot_recall.to_vec(), more_words: Vec::new() }
    }
}

impl Default for RecallRule {
    fn default() -> Self {
        Self { enabled: true, words: WORDS.recall.to_vec(), more_words: Vec::new() }
    }
}

impl Default for EmotionRule {
    fn default() -> Self {
        Self { enabled: true, days: 3, emotions: WORDS.emotions.clone() }
    }
}

/// A message of the user, as the rules look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'m> {
    /// The number of its round within the conversation; the first is 1.
    pub round: u64,
    /// The scene that it belongs to.
    pub scene: &'m str,
    /// What it says.
    pub text: &'m str,
}

/// Which rule held, and what it wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The rule.
    pub rule: Rule,
    /// What it wants.
    pub action: Action,
    /// The word of the rules that decided, if one did.
    pub word: Option<String>,
}

/// A rule of injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// It is the first message of its conversation.
    ColdStart,
    /// It asks about the story.
    PlotRecall,
    /// It asks about the past.
    Recall,
    /// It shows a feeling.
    Emotion,
    /// None of these.
    Nothing,
}

/// What is to be injected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The latest summaries and rounds.
    Latest {
        /// How many summaries.
        summaries: usize,
        /// How many rounds.
        rounds: usize,
        /// Whether the message asks about the past, too, so that what is found is wanted beside them.
        search: bool,
    },
    /// What a search with the message finds, within the scenes that its own scene sees.
    Search,
    /// What a search with the message finds within this scene.
    SearchScene(String),
    /// What was said lately in the same feeling.
    SameEmotion {
        /// The feeling's name.
        emotion: String,
        /// The words that show it.
        words: Vec<String>,
        /// How long ago it may have been.
        within: Duration,
    },
    /// Nothing.
    Nothing,
}

impl InjectionRules {
    /// Reads rules from TOML, laid over the default.
    ///
    /// # Errors
    /// `InvalidInput` with line and column for what is no TOML or no field of ours, and for a word that is empty.
    pub fn from_toml(text: &str) -> Result<Self> {
        let rules: Self =
            toml::from_str(text).map_err(|e| Error::invalid("injection rules", e.to_string().trim_end()))?;
        rules.validate()?;
        Ok(rules)
    }

    /// Refuses rules that would hold for every message.
    ///
    /// # Errors
    /// `InvalidInput` for a word that is empty.
    pub fn validate(&self) -> Result<()> {
        let (plot, recall) = (&self.plot_recall, &self.recall);
        let emotions = self.emotion.emotions.iter().map(|emotion| ("emotion", &emotion.words));
        let lists = [
            ("plot_recall", &plot.words),
            ("plot_recall", &plot.more_words),
            ("recall", &recall.words),
            ("recall", &recall.more_words),
        ];
        for (rule, words) in lists.into_iter().chain(emotions) {
            if words.iter().any(|word| fold(word).is_empty()) {
                let message = format!("a word of '{rule}' is empty; it would fit every message");
                return Err(Error::invalid("injection rules", message));
            }
        }
        Ok(())
    }

    /// Whether a message calls for memories, and for which.
    pub fn decide(&self, message: &Message<'_>) -> Decision {
        let nothing = Decision { rule: Rule::Nothing, action: Action::Nothing, word: None };
        if self.silent.iter().any(|scene| scene == message.scene) {
            return nothing;
        }
        let text = fold(message.text);
        let asks = self.plot_question(message.scene, &text).or_else(|| self.question(&text));
        if self.cold_start.enabled && message.round <= 1 {
            let ColdStartRule { summaries, rounds, .. } = self.cold_start;
            let action = Action::Latest { summaries, rounds, search: asks.is_some() };
            return Decision { rule: Rule::ColdStart, action, word: None };
        }
        asks.or_else(|| self.feeling(&text)).unwrap_or(nothing)
    }

    fn plot_question(&self, scene: &str, text: &str) -> Option<Decision> {
        let PlotRecallRule { enabled, scene: plot, words, more_words } = &self.plot_recall;
        let word = (*enabled && scene == plot).then(|| found(&[words, more_words], text))??;
        Some(Decision { rule: Rule::PlotRecall, action: Action::SearchScene(plot.clone()), word: Some(word) })
    }

    fn question(&self, text: &str) -> Option<Decision> {
        let RecallRule { enabled, words, more_words } = &self.recall;
        let word = enabled.then(|| found(&[words, more_words], text))??;
        Some(Decision { rule: Rule::Recall, action: Action::Search, word: Some(word) })
    }

    fn feeling(&self, text: &str) -> Option<Decision> {
        let EmotionRule { enabled, days, emotions } = &self.emotion;
        let (shown, word) =
            emotions.iter().filter(|_| *enabled).find_map(|shown| Some((shown, found(&[&shown.words], text)?)))?;
        let action = Action::SameEmotion {
            emotion: shown.name.clone(),
            words: shown.words.clone(),
            within: Duration::from_secs(u64::from(*days) * 24 * 60 * 60),
        };
        Some(Decision { rule: Rule::Emotion, action, word: Some(word) })
    }
}

fn found(lists: &[&Vec<String>], text: &str) -> Option<String> {
    Phrases::new(lists.iter().copied().flatten()).find_folded(text).map(str::to_owned)
}
