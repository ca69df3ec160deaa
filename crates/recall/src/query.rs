//! What is asked of a recall.

use jiff::tz::TimeZone;
use memory_engine_core::{Field, Filter, Op, Timestamp};

use crate::RecallOptions;

/// A question to memory. A plain `&str` asks with the engine's options.
///
/// ```
/// use memory_engine::{Arms, Field, Filter, Kind, MemoryEngine, RecallQuery, Scope, Turn};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// let may = "2023-05-08T09:00:00Z".parse()?;
/// memory.remember(&lin, Turn::user("We climbed the Wendelstein").at(may)).await?;
/// memory.remember(&lin, Turn::note("climbing boots: size 41").with_tags(["shopping"])).await?;
///
/// let then = RecallQuery::new("Where did we climb in May 2023?").only_then().with_limit(5);
/// assert_eq!(memory.recall(&lin, then).await?.hits.len(), 1);
/// let noted = Filter::eq(Field::Kind, Kind::NOTE.as_str());
/// let query = RecallQuery::new("climbing").with_filter(noted).with_arms(Arms::KeywordOnly);
/// assert!(memory.recall(&lin, query).await?.hits[0].record.text.contains("boots"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct RecallQuery {
    /// The question, in the words of whoever asks.
    pub text: String,
    /// Only these records.
    pub filter: Option<Filter>,
    /// How many hits at the most; the engine's options say when it is not set.
    pub limit: Option<usize>,
    /// What was said right before it: the graph arm also looks around the entities that are named there.
    pub context: Vec<String>,
    /// Which arms take part.
    pub arms: Arms,
    /// The scene that the conversation is in: what is recalled is what may be seen from there. Everything, when not set.
    pub scene: Option<String>,
    /// Whose words count more.
    pub speaker: Option<String>,
    /// When it is asked: what "last week" in it means. Now, when not set.
    pub asked_at: Option<Timestamp>,
    /// Where it is asked: when a day begins in it.
    pub zone: TimeZone,
    /// Whether only what occurred in the stretches of time that the question names is looked at; they only count, else.
    pub only_then: bool,
    /// Other options than the engine's.
    pub options: Option<RecallOptions>,
}

impl RecallQuery {
    /// Asks this, of everything within the scope.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            filter: None,
            limit: None,
            context: Vec::new(),
            arms: Arms::default(),
            scene: None,
            speaker: None,
            asked_at: None,
            zone: TimeZone::UTC,
            only_then: false,
            options: None,
        }
    }

    /// Gives at most so many hits.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only records that match; with every filter that is added, all have to.
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(old) => old.and(filter),
            None => filter,
        });
        self
    }

    /// Only what occurred at that time or later.
    pub fn since(self, time: Timestamp) -> Self {
        self.with_filter(Filter::compare(Field::OccurredAt, Op::Ge, time))
    }

    /// Only what occurred before that time.
    pub fn until(self, time: Timestamp) -> Self {
        self.with_filter(Filter::compare(Field::OccurredAt, Op::Lt, time))
    }

    /// Asks after this was said: who is named there is what the question is about, too.
    pub fn after<T: Into<String>>(mut self, context: impl IntoIterator<Item = T>) -> Self {
        self.context.extend(context.into_iter().map(Into::into));
        self
    }

    /// Only these arms take part: for measuring what each of them finds.
    pub fn with_arms(mut self, arms: Arms) -> Self {
        self.arms = arms;
        self
    }

    /// Asks from within a scene: the engine's [scene policy](crate::ScenePolicy) says what may be seen from there, and how
    /// much it counts.
    pub fn in_scene(mut self, scene: impl Into<String>) -> Self {
        self.scene = Some(scene.into());
        self
    }

    /// Has what this speaker said count more.
    pub fn by_speaker(mut self, name: impl Into<String>) -> Self {
        self.speaker = Some(name.into());
        self
    }

    /// Asks at this time, in this zone: for questions such as "what did I do yesterday?".
    pub fn asked_at(mut self, time: Timestamp, zone: TimeZone) -> Self {
        (self.asked_at, self.zone) = (Some(time), zone);
        self
    }

    /// Looks only at what occurred when the question says; at everything, when it says nothing about time.
    pub fn only_then(mut self) -> Self {
        self.only_then = true;
        self
    }

    /// Recalls with these options instead of the engine's.
    pub fn with_options(mut self, options: RecallOptions) -> Self {
        self.options = Some(options);
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

/// Which arms of a recall take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arms {
    /// All of them.
    #[default]
    All,
    /// The words only.
    KeywordOnly,
    /// The vectors only.
    VectorOnly,
}
