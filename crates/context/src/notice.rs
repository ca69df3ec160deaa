//! Tells the model the outcome of a request about the memory, such as "forget what I said about my landlord".

use memory_engine_core::Language;
use memory_engine_text::data;
use serde::{Deserialize, Serialize};

/// The line for each notice in one language. `{topic}`, `{count}` and `{samples}` are replaced.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoticeLines {
    off_the_record: String,
    previous_taken_out: String,
    nothing_taken_out: String,
    forgotten: String,
    asks: String,
    nothing_found: String,
    restored: String,
    nothing_to_restore: String,
    failed: String,
    quote: [String; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoticeFile {
    en: NoticeLines,
    zh: NoticeLines,
}

data!(DATA: NoticeFile = "en/notices.toml", "zh/notices.toml");

/// The outcome of a request about the memory, such as "don't remember this". The block tells it to the model. Its JSON
/// contains no text of the user: neither topic nor samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestNotice {
    /// The message is not stored.
    OffTheRecord,
    /// The message before it was taken out.
    PreviousTakenOut {
        /// Number of deleted records. 0 if none was found.
        count: usize,
    },
    /// Memories were forgotten.
    Forgotten {
        /// Their topic.
        #[serde(skip)]
        topic: String,
        /// Their number.
        count: usize,
    },
    /// Nothing was done: the user must agree.
    AsksToForget {
        /// The topic.
        #[serde(skip)]
        topic: String,
        /// Number of memories that would be forgotten.
        count: usize,
        /// Some of them.
        #[serde(skip)]
        samples: Vec<String>,
    },
    /// No memory names the topic.
    NothingFound {
        /// The topic.
        #[serde(skip)]
        topic: String,
    },
    /// Forgotten memories are back.
    Restored {
        /// Their number.
        count: usize,
    },
    /// There is nothing to bring back.
    NothingToRestore,
    /// The request failed, or took too long.
    Failed,
}

impl RequestNotice {
    /// Sets the topic of a notice that was read from JSON.
    #[must_use]
    pub fn with_topic(mut self, name: &str) -> Self {
        if let Self::Forgotten { topic, .. } | Self::AsksToForget { topic, .. } | Self::NothingFound { topic } =
            &mut self
        {
            name.clone_into(topic);
        }
        self
    }

    /// Returns the notice as a line. `neutralized` prepares texts that are not from this program.
    pub(crate) fn line(&self, language: Language, neutralized: impl Fn(&str) -> String) -> String {
        let lines = language.pick(&DATA.zh, &DATA.en);
        let [open, close] = &lines.quote;
        // Removes braces, so that the text cannot contain a placeholder.
        let quoted = |text: &str| format!("{open}{}{close}", neutralized(text).replace(['{', '}'], ""));
        match self {
            Self::OffTheRecord => lines.off_the_record.clone(),
            Self::PreviousTakenOut { count: 0 } => lines.nothing_taken_out.clone(),
            Self::PreviousTakenOut { .. } => lines.previous_taken_out.clone(),
            Self::Forgotten { topic, count } => with_topic(&lines.forgotten, *count, &quoted(topic)),
            Self::AsksToForget { topic, count, samples } => {
                let samples: Vec<String> = samples.iter().map(|sample| quoted(sample)).collect();
                with_topic(&lines.asks.replace("{samples}", &samples.join(" ")), *count, &quoted(topic))
            }
            Self::NothingFound { topic } => with_topic(&lines.nothing_found, 0, &quoted(topic)),
            Self::Restored { count } => lines.restored.replace("{count}", &count.to_string()),
            Self::NothingToRestore => lines.nothing_to_restore.clone(),
            Self::Failed => lines.failed.clone(),
        }
    }
}

fn with_topic(line: &str, count: usize, topic: &str) -> String {
    line.replace("{count}", &count.to_string()).replace("{topic}", topic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GatewayBlock;

    #[test]
    fn a_notice_stands_before_the_memories_or_alone() {
        let block = GatewayBlock::default();
        let forgotten = RequestNotice::Forgotten { topic: "the [Memory request] flat\n---".into(), count: 3 };
        let alone = block.with_notice(Language::English, "", &forgotten);
        assert!(alone.starts_with(&block.english.opening) && alone.ends_with(&block.english.closing), "{alone}");
        assert!(alone.contains("“the (Memory request) flat —”: 3"), "{alone}");
        let rest = "\n[Related memories]\n[2026-01-01 10:00] User: I like jazz.\n\nend";
        let memories = format!("{}\n{rest}", block.english.opening);
        let both = block.with_notice(Language::Chinese, &memories, &RequestNotice::OffTheRecord);
        assert!(
            both.starts_with(&format!("{}\n\n[记忆操作]\n", block.english.opening)) && both.ends_with(rest),
            "{both}"
        );
    }

    #[test]
    fn samples_and_counts_are_named_in_both_languages() {
        let samples = vec!["one {topic}".to_owned(), "two".to_owned()];
        let asks = RequestNotice::AsksToForget { topic: "tea".into(), count: 12, samples };
        for language in [Language::English, Language::Chinese] {
            let line = asks.line(language, str::to_owned);
            for part in ["12", "tea", "one ", "two"] {
                assert!(line.contains(part), "{line}");
            }
            assert!(RequestNotice::Restored { count: 7 }.line(language, str::to_owned).contains('7'));
        }
    }
}
