//! The query of a recall.

use jiff::tz::TimeZone;
use memory_engine_core::{Error, Filter, Timestamp, enum_names};
use serde::{Deserialize, Serialize};

use crate::options::RecallOptions;

/// A query to memory. A plain `&str` is a query with the engine's options. In JSON, only `text` is required.
///
/// ```
/// use memory_engine::{Field, Filter, Kind, MemoryEngine, RecallQuery, Scope, Timestamp, Turn, recall::Retrievers};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// let may: Timestamp = "2023-05-08T09:00:00Z".parse()?;
/// memory.remember(&lin, Turn::user("We climbed the Wendelstein").at(may)).await?;
/// memory.remember(&lin, Turn::note("climbing boots: size 41").with_tags(["shopping"])).await?;
///
/// let then = RecallQuery::new("Where did we climb in May 2023?").only_then().with_limit(5);
/// assert_eq!(memory.recall(&lin, then).await?.hits.len(), 1);
/// let noted = Filter::eq(Field::Kind, Kind::NOTE.as_str());
/// let query = RecallQuery::new("climbing").with_filter(noted).with_retrievers(Retrievers::KeywordOnly);
/// assert!(memory.recall(&lin, query).await?.hits[0].record.text.contains("boots"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use]
#[non_exhaustive]
pub struct RecallQuery {
    /// The text of the query.
    pub text: String,
    /// Restricts the records. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Maximum number of hits. Default: that of the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The dialogue right before the query: the graph retriever also starts at the entities that it names. Default:
    /// none.
    #[serde(default)]
    pub context: Vec<String>,
    /// The retrievers that take part. Default: all.
    #[serde(default)]
    pub retrievers: Retrievers,
    /// The scene of the conversation: only what is visible from there is recalled. Default: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// The speaker whose records count more. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The time of the query, which decides what "last week" in it means. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// The time as of which memories are recalled: as they were then, with the text, the state and the validity of the
    /// time, and without what was recorded later. [`Record::as_of`](memory_engine_core::Record::as_of) defines what is
    /// visible at a time. It is also the time of the query, unless `asked_at` is set. Default: none, for the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// The time zone of days that the query names; in JSON a name such as `Asia/Shanghai` or an offset. Default: the
    /// engine's.
    #[serde(default, with = "jiff::fmt::serde::tz::optional", skip_serializing_if = "Option::is_none")]
    pub zone: Option<TimeZone>,
    /// True if only records of the time that the query names are recalled; otherwise that time only adds to the score.
    /// Default: false.
    #[serde(default)]
    pub only_then: bool,
    /// Options of this query. Default: the engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<RecallOptions>,
    /// True if each hit lists its rank after each step, in [`RecallHit::ranks`](crate::RecallHit::ranks). Default:
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// True if the text contains the dialogue before the question.
    #[serde(skip)]
    pub(crate) has_context: bool,
}

/// Number of characters at the begin and at the end of a text that are searched for.
const SEARCHED_CHARS: usize = 8_192;

/// Returns the begin and the end of a long text.
fn shortened(text: String) -> String {
    // A byte is at most a character.
    if text.len() <= 2 * SEARCHED_CHARS {
        return text;
    }
    let mut chars = text.char_indices().map(|(place, _)| place);
    let Some(begin) = chars.nth(SEARCHED_CHARS) else { return text };
    let Some(end) = chars.nth_back(SEARCHED_CHARS - 1) else { return text };
    format!("{}\n{}", &text[..begin], &text[end..])
}

impl RecallQuery {
    /// Queries everything within the scope. Of a text above 16,384 characters, such as a message with a pasted
    /// document, the first and the last 8,192 are the query: a question stands before or after what it is about.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: shortened(text.into()),
            filter: None,
            limit: None,
            context: Vec::new(),
            retrievers: Retrievers::default(),
            scene: None,
            speaker: None,
            asked_at: None,
            as_of: None,
            zone: None,
            only_then: false,
            options: None,
            trace: false,
            has_context: false,
        }
    }

    /// Restricts to records that match this filter and every filter added before.
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(old) => old.and(filter),
            None => filter,
        });
        self
    }

    /// Restricts to records that occurred at this time or later.
    pub fn since(self, time: impl Into<Timestamp>) -> Self {
        self.with_filter(Filter::since(time))
    }

    /// Restricts to records that occurred before this time.
    pub fn until(self, time: impl Into<Timestamp>) -> Self {
        self.with_filter(Filter::until(time))
    }

    /// Adds the dialogue right before the query.
    pub fn with_context<T: Into<String>>(mut self, context: impl IntoIterator<Item = T>) -> Self {
        self.context.extend(context.into_iter().map(Into::into));
        self
    }

    /// States that the text contains the dialogue before the question, as that of
    /// [`contextual_query`](memory_engine_context::contextual_query): a hit need not match all of it to be relevant.
    pub fn contains_dialogue(mut self) -> Self {
        self.has_context = true;
        self
    }

    memory_engine_core::setters! {
        /// Sets the maximum number of hits.
        with_limit(limit: usize) => limit = Some(limit);
        /// Sets the retrievers that take part: for measuring each of them.
        with_retrievers(retrievers: Retrievers);
        /// Queries from within a scene. The engine's [scene policy](memory_engine_scene::ScenePolicy) decides what is
        /// visible from there, and its weight.
        in_scene(scene: impl Into<String>) => scene = Some(scene.into());
        /// Gives records of this speaker more weight.
        prefer_speaker(name: impl Into<String>) => speaker = Some(name.into());

        /// Recalls the memories of a time, as they were then.
        ///
        /// ```
        /// use std::{sync::Arc, time::Duration};
        /// use memory_engine::{MemoryEngine, RecallQuery, Scope, Timestamp, testing::ManualClock};
        ///
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// let clock = Arc::new(ManualClock::new("2026-03-01T09:00:00Z".parse()?));
        /// let memory = MemoryEngine::builder().in_memory().clock(clock.clone()).build().await?;
        /// let lin = Scope::user("lin")?;
        /// let turn = memory.remember(&lin, "I live in Porto.").await?;
        /// clock.advance(Duration::from_secs(90 * 24 * 60 * 60));
        /// memory.history().retract(&lin, &[turn], "it was a joke").await?;
        ///
        /// let may: Timestamp = "2026-05-01T00:00:00Z".parse()?;
        /// assert!(memory.recall(&lin, "Where do I live?").await?.hits.is_empty());
        /// let then = memory.recall(&lin, RecallQuery::new("Where do I live?").as_of(may)).await?;
        /// assert_eq!(then.hits[0].record.text, "I live in Porto.");
        /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
        /// ```
        as_of(time: impl Into<Timestamp>) => as_of = Some(time.into());

        /// Sets the time zone of days that the query names.
        with_zone(zone: TimeZone) => zone = Some(zone);
        /// Uses these options instead of the engine's.
        with_options(options: RecallOptions) => options = Some(options);
    }

    /// Sets the time and time zone of the query, for queries such as "what did I do yesterday?".
    pub fn asked_at(mut self, time: impl Into<Timestamp>, zone: TimeZone) -> Self {
        self.asked_at = Some(time.into());
        self.zone = Some(zone);
        self
    }

    /// Restricts to records of the time that the query names. If it names none, there is no restriction.
    pub fn only_then(mut self) -> Self {
        self.only_then = true;
        self
    }

    /// Lists the rank of each hit after each step, in [`RecallHit::ranks`](crate::RecallHit::ranks).
    pub fn with_trace(mut self) -> Self {
        self.trace = true;
        self
    }
}

impl From<&str> for RecallQuery {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for RecallQuery {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// The retrievers that take part in a recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retrievers {
    /// All of them.
    #[default]
    All,
    /// The keyword retriever only.
    KeywordOnly,
    /// The vector retriever only.
    VectorOnly,
}

enum_names! {
    Retrievers, "set of retrievers" {
        All => "all",
        KeywordOnly => "keyword_only",
        VectorOnly => "vector_only",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_searched_for_by_its_begin_and_end() {
        for character in ["a", "茶"] {
            let exact = character.repeat(2 * SEARCHED_CHARS);
            assert_eq!(RecallQuery::new(exact.clone()).text, exact);
            let long = format!("begin{}end", character.repeat(3 * SEARCHED_CHARS));
            let text = RecallQuery::new(long).text;
            assert_eq!(text.chars().count(), 2 * SEARCHED_CHARS + 1);
            assert!(text.starts_with("begin") && text.ends_with("end"));
        }
    }
}
