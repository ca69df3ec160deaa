//! The built-in triggers of automatic injection.

use std::{collections::BTreeSet, sync::LazyLock};

use memory_engine_core::{Language, Phrases, RuleId, phrases::fold};
use memory_engine_rule_data::{Words, load};
use serde::Deserialize;

use crate::{
    phrase_pattern::{PhrasePatterns, PhraseToken, tokens},
    weak_question::weak_question,
};

/// The triggers of one language.
#[derive(Debug)]
pub(crate) struct Triggers {
    pub(crate) plot_recall: Vec<Trigger>,
    pub(crate) recall: Vec<Trigger>,
    /// References to the conversation before this one.
    pub(crate) previous_session: Vec<Trigger>,
    pub(crate) emotions: Vec<EmotionTrigger>,
}

/// A rule that fires if a message contains one of its phrases.
#[derive(Debug)]
pub(crate) struct Trigger {
    pub(crate) id: RuleId,
    matcher: Matcher,
}

/// A trigger for a feeling.
#[derive(Debug)]
pub(crate) struct EmotionTrigger {
    pub(crate) trigger: Trigger,
    /// The label of records with this feeling.
    pub(crate) name: String,
    /// The words to search for.
    pub(crate) words: Vec<String>,
}

/// A message, prepared for all triggers.
#[derive(Debug)]
pub(crate) struct PreparedText {
    pub(crate) folded: String,
    tokens: Vec<PhraseToken>,
}

#[derive(Debug)]
enum Matcher {
    /// Chinese phrases occur anywhere in a text.
    Anywhere(Phrases),
    /// English phrases are sequences of words.
    Words { phrases: PhrasePatterns, except: PhrasePatterns },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerData {
    id: RuleId,
    phrases: Words,
    #[serde(default)]
    except: Words,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmotionData {
    id: RuleId,
    name: String,
    phrases: Words,
    #[serde(default)]
    except: Words,
    /// Default: the phrases.
    #[serde(default)]
    words: Words,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerFile {
    #[serde(default)]
    fillers: BTreeSet<String>,
    plot_recall: Vec<TriggerData>,
    recall: Vec<TriggerData>,
    previous_session: Vec<TriggerData>,
    emotions: Vec<EmotionData>,
}

static CHINESE: LazyLock<Triggers> =
    LazyLock::new(|| Triggers::new(load(&[include_str!("../data/zh/injection.toml")]), Language::Chinese));
static ENGLISH: LazyLock<Triggers> =
    LazyLock::new(|| Triggers::new(load(&[include_str!("../data/en/injection.toml")]), Language::English));

/// Returns the triggers for messages in a language, in the order in which they are tried.
pub(crate) fn triggers_for(language: Language) -> Vec<&'static Triggers> {
    // A message classified as English may come from a Chinese user ("emo了"), but not the other way around.
    language.pick(vec![&*CHINESE], vec![&*ENGLISH, &*CHINESE])
}

impl Triggers {
    fn new(file: TriggerFile, language: Language) -> Self {
        let fillers = &file.fillers;
        let trigger = |data: TriggerData| Trigger::new(data, language, fillers);
        let emotion = |data: EmotionData| {
            let search_words = data.words.to_vec();
            let words = if search_words.is_empty() { data.phrases.to_vec() } else { search_words };
            let trigger = trigger(TriggerData { id: data.id, phrases: data.phrases, except: data.except });
            EmotionTrigger { trigger, name: data.name, words }
        };
        Self {
            plot_recall: file.plot_recall.into_iter().map(trigger).collect(),
            recall: file.recall.into_iter().map(trigger).collect(),
            previous_session: file.previous_session.into_iter().map(trigger).collect(),
            emotions: file.emotions.into_iter().map(emotion).collect(),
        }
    }

    /// Returns the ids of all triggers.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &RuleId> {
        let emotions = self.emotions.iter().map(|emotion| &emotion.trigger);
        let recalls = self.plot_recall.iter().chain(&self.recall).chain(&self.previous_session);
        recalls.chain(emotions).map(|trigger| &trigger.id)
    }
}

impl Trigger {
    fn new(data: TriggerData, language: Language, fillers: &BTreeSet<String>) -> Self {
        let matcher = match language {
            Language::Chinese => Matcher::Anywhere(Phrases::new(data.phrases.iter())),
            _ => Matcher::Words {
                phrases: PhrasePatterns::new(data.phrases.iter(), fillers),
                except: PhrasePatterns::new(data.except.iter(), fillers),
            },
        };
        Self { id: data.id, matcher }
    }

    /// Returns true if the trigger fires and the text has no topic besides its phrase.
    pub(crate) fn is_whole_message(&self, text: &PreparedText) -> bool {
        let Some(found) = self.find(text) else { return false };
        let rest = found.rest.unwrap_or_else(|| text.folded.replacen(&found.phrase, " ", 1));
        !rest.chars().any(char::is_alphanumeric) || weak_question(&rest)
    }

    /// Returns the phrase in the text that fires the trigger.
    pub(crate) fn find(&self, text: &PreparedText) -> Option<TriggerMatch> {
        match &self.matcher {
            Matcher::Anywhere(phrases) => {
                let phrase = phrases.find_folded(&text.folded)?.to_owned();
                Some(TriggerMatch { phrase, rest: None })
            }
            Matcher::Words { phrases, except } => {
                let (phrase, range) = phrases.find(&except.cut_out(&text.tokens))?;
                let before = &text.folded[..range.start];
                let after = &text.folded[range.end..];
                let rest: Vec<&str> = before.split_whitespace().chain(after.split_whitespace()).collect();
                Some(TriggerMatch { phrase, rest: Some(rest.join(" ")) })
            }
        }
    }
}

/// A phrase that fires a trigger.
#[derive(Debug)]
pub(crate) struct TriggerMatch {
    pub(crate) phrase: String,
    /// The text without the phrase. `None` for Chinese, where the whole text is searched for.
    pub(crate) rest: Option<String>,
}

impl PreparedText {
    pub(crate) fn new(text: &str) -> Self {
        let folded = fold(text);
        let tokens = tokens(&folded);
        Self { folded, tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_load_and_ids_are_unique() {
        let ids: Vec<&RuleId> = CHINESE.ids().chain(ENGLISH.ids()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(CHINESE.ids().all(|id| id.as_str().starts_with("zh.")));
        assert!(ENGLISH.ids().all(|id| id.as_str().starts_with("en.")));
    }
}
