//! Detection of questions about the conversation before this one, by the classes of their words.

use memory_engine_core::RuleId;
use memory_engine_text::Words;
use serde::Deserialize;

use crate::weak_question::weak_word_at_start;

/// A rule for questions such as "Can you recap our previous chat?" and 上回咱们说啥了. Each of them contains a time, a
/// word for talking, and a word that asks. All other words have no topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionQuestion {
    pub(crate) id: RuleId,
    /// Words for an earlier time, such as "last".
    times: Words,
    /// Words for a conversation, such as "talked" and "topic".
    talk: Words,
    /// Words that ask, such as "what" and "recap", and the question mark.
    asks: Words,
    /// Other words without a topic, in addition to those of weak questions.
    neutral: Words,
    /// Words for other people and other times. A question with one of them is about something else.
    except: Words,
}

impl SessionQuestion {
    /// Returns the time word of a folded text if the text asks about an earlier conversation and names no topic.
    pub(crate) fn find(&self, folded: &str) -> Option<&str> {
        let text = folded.replace(['\'', '’'], "");
        let mut rest = text.as_str();
        let mut time = None;
        let mut has_talk_word = false;
        let mut has_asking_word = false;
        while let Some(c) = rest.chars().next() {
            let length_in = |words: &Words| longest_at_start(words, rest).map_or(0, str::len);
            let time_word = longest_at_start(&self.times, rest);
            let time_length = time_word.map_or(0, str::len);
            let except_length = length_in(&self.except);
            let talk_length = length_in(&self.talk);
            let asking_length = length_in(&self.asks);
            let neutral_length = length_in(&self.neutral);
            let weak_length = weak_word_at_start(rest).map_or(0, str::len);
            let lengths = [except_length, time_length, talk_length, asking_length, neutral_length, weak_length];
            let length = lengths.into_iter().max().unwrap_or_default();
            if length == 0 {
                if c.is_alphanumeric() {
                    return None;
                }
                rest = &rest[c.len_utf8()..];
                continue;
            }
            // On equal length, the exception wins.
            if except_length == length {
                return None;
            }
            // A word may belong to several classes.
            time = time.or(time_word.filter(|word| word.len() == length));
            has_talk_word |= talk_length == length;
            has_asking_word |= asking_length == length;
            rest = &rest[length..];
        }
        time.filter(|_| has_talk_word && has_asking_word)
    }
}

/// Returns the longest of the words that a text begins with. A word of letters ends at a word boundary.
fn longest_at_start<'w>(words: &'w Words, text: &str) -> Option<&'w str> {
    let ends_word = |word: &str| {
        let is_ascii_word_char = |c: char| c.is_ascii_alphanumeric();
        !(word.ends_with(is_ascii_word_char) && text[word.len()..].starts_with(is_ascii_word_char))
    };
    words.iter().filter(|word| text.starts_with(word) && ends_word(word)).max_by_key(|word| word.len())
}
