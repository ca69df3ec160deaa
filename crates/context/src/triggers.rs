//! The built-in triggers of automatic injection.

use std::{collections::BTreeSet, sync::LazyLock};

use memory_engine_core::{Language, Phrases, RuleId, phrases::fold};
use memory_engine_text::{Words, alternatives, load};
use serde::Deserialize;

use crate::{
    phrase_pattern::{PhrasePatterns, PhraseToken, tokens},
    session_question::SessionQuestion,
    weak_question::weak_question,
};

/// The triggers of one language.
#[derive(Debug)]
pub(crate) struct Triggers {
    /// Words that continue an earlier conversation.
    pub(crate) continuations: Vec<Trigger>,
    pub(crate) plot_recall: Vec<Trigger>,
    pub(crate) recall: Vec<Trigger>,
    /// References to the conversation before this one.
    pub(crate) previous_session: Vec<Trigger>,
    /// Questions about the conversation before this one, by the classes of their words.
    pub(crate) session_questions: Vec<SessionQuestion>,
    /// Questions about everything that is stored about the user.
    pub(crate) about_user: Vec<Trigger>,
    pub(crate) emotions: Vec<EmotionTrigger>,
}

/// A rule that fires if a message contains one of its phrases.
#[derive(Debug)]
pub(crate) struct Trigger {
    pub(crate) id: RuleId,
    matcher: Matcher,
    /// True if the phrase says what is searched for, so that it stays in the search text.
    searches_phrase: bool,
    /// True if the message must have no topic besides the phrase.
    needs_whole_message: bool,
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
    Anywhere { phrases: Phrases, except: Vec<String> },
    /// English phrases are sequences of words. Those in `kept_words` stay in the search text.
    Words { phrases: PhrasePatterns, except: PhrasePatterns, kept_words: BTreeSet<String> },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerData {
    id: RuleId,
    phrases: Words,
    #[serde(default)]
    except: Words,
    /// Default: false.
    #[serde(default)]
    searches_phrase: bool,
    /// Default: false.
    #[serde(default)]
    whole_message: bool,
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
    #[serde(default)]
    kept_words: BTreeSet<String>,
    continuations: Vec<TriggerData>,
    plot_recall: Vec<TriggerData>,
    recall: Vec<TriggerData>,
    previous_session: Vec<TriggerData>,
    session_questions: Vec<SessionQuestion>,
    about_user: Vec<TriggerData>,
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
        let (fillers, kept_words) = (&file.fillers, &file.kept_words);
        let trigger = |data: TriggerData| Trigger::new(data, language, fillers, kept_words);
        let emotion = |data: EmotionData| {
            let search_words = data.words.to_vec();
            let words = if search_words.is_empty() { data.phrases.to_vec() } else { search_words };
            let data_of_trigger = TriggerData {
                id: data.id,
                phrases: data.phrases,
                except: data.except,
                searches_phrase: false,
                whole_message: false,
            };
            let trigger = trigger(data_of_trigger);
            EmotionTrigger { trigger, name: data.name, words }
        };
        Self {
            continuations: file.continuations.into_iter().map(trigger).collect(),
            plot_recall: file.plot_recall.into_iter().map(trigger).collect(),
            recall: file.recall.into_iter().map(trigger).collect(),
            previous_session: file.previous_session.into_iter().map(trigger).collect(),
            session_questions: file.session_questions,
            about_user: file.about_user.into_iter().map(trigger).collect(),
            emotions: file.emotions.into_iter().map(emotion).collect(),
        }
    }

    /// Returns the ids of all triggers.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &RuleId> {
        let emotions = self.emotions.iter().map(|emotion| &emotion.trigger);
        let recalls = self
            .continuations
            .iter()
            .chain(&self.plot_recall)
            .chain(&self.recall)
            .chain(&self.previous_session)
            .chain(&self.about_user);
        let session_questions = self.session_questions.iter().map(|question| &question.id);
        recalls.chain(emotions).map(|trigger| &trigger.id).chain(session_questions)
    }
}

impl Trigger {
    fn new(data: TriggerData, language: Language, fillers: &BTreeSet<String>, kept_words: &BTreeSet<String>) -> Self {
        let matcher = match language {
            Language::Chinese => {
                let mut except: Vec<String> = data.except.iter().flat_map(alternatives).collect();
                // The longest exception is cut out.
                except.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
                Matcher::Anywhere { phrases: Phrases::new(data.phrases.iter().flat_map(alternatives)), except }
            }
            Language::English | _ => Matcher::Words {
                phrases: PhrasePatterns::new(data.phrases.iter(), fillers),
                except: PhrasePatterns::new(data.except.iter(), fillers),
                kept_words: kept_words.clone(),
            },
        };
        let TriggerData { id, searches_phrase, whole_message: needs_whole_message, .. } = data;
        Self { id, matcher, searches_phrase, needs_whole_message }
    }

    /// Returns true if the trigger fires and the text has no topic besides its phrase.
    pub(crate) fn is_whole_message(&self, text: &PreparedText) -> bool {
        let Some(found) = self.find(text) else { return false };
        !found.rest.chars().any(char::is_alphanumeric) || weak_question(&found.rest)
    }

    /// Returns true if the text has a phrase of the trigger, and no topic besides it if that is required.
    pub(crate) fn fires(&self, text: &PreparedText) -> bool {
        if self.needs_whole_message { self.is_whole_message(text) } else { self.find(text).is_some() }
    }

    /// Returns the phrase in the text that fires the trigger.
    pub(crate) fn find(&self, text: &PreparedText) -> Option<TriggerMatch> {
        match &self.matcher {
            Matcher::Anywhere { phrases, except } => {
                let mut searched = text.folded.clone();
                for phrase in except.iter().filter(|phrase| text.folded.contains(phrase.as_str())) {
                    searched = searched.replace(phrase, " ");
                }
                let phrase = phrases.find_folded(&searched)?.to_owned();
                let rest = text.folded.replacen(&phrase, " ", 1);
                Some(TriggerMatch { phrase, rest, search_text: None })
            }
            Matcher::Words { phrases, except, kept_words } => {
                let (phrase, range) = phrases.find(&except.cut_out(&text.tokens))?;
                let around = |middle: &[&str]| {
                    let before = text.folded[..range.start].split_whitespace();
                    let after = text.folded[range.end..].split_whitespace();
                    before.chain(middle.iter().copied()).chain(after).collect::<Vec<&str>>().join(" ")
                };
                let kept: Vec<&str> = phrase.split(' ').filter(|word| kept_words.contains(*word)).collect();
                let rest = around(&[]);
                let search_text = (!self.searches_phrase).then(|| around(&kept));
                Some(TriggerMatch { phrase, rest, search_text })
            }
        }
    }
}

/// A phrase that fires a trigger.
#[derive(Debug)]
pub(crate) struct TriggerMatch {
    pub(crate) phrase: String,
    /// The text without the phrase.
    pub(crate) rest: String,
    /// The text without the words that only appeal to the memory. `None` if the whole text is searched for: in Chinese,
    /// and if the phrase names what is searched for ("what's my").
    pub(crate) search_text: Option<String>,
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
