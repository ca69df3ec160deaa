//! Questions that say too little, asked again with what was said before them: layer by layer, from the cheap to the dear.

use std::{sync::Arc, time::Duration};

use memory_engine_context::{
    MAX_CONTEXT_CHARS, REWRITE_PROMPT, RewriteRequest, contextual_query, parse_rewrite, weak_question,
};
use memory_engine_core::{Error, ErrorKind, Result, Scope, text};
use memory_engine_llm::{ChatModel, ChatRequest, Message};
use rustc_hash::FxHashSet;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use crate::{MemoryEngine, Recall, RecallQuery, pipeline};

/// How much of the dialogue a model is given to rewrite a question.
const REWRITE_CHARS: usize = 4000;

/// A memory that fits either the question or the dialogue fits: it cannot hold the words of both.
const PART_OF_THE_CONTEXT: f64 = 0.5;

/// What is done about a question that finds nothing relevant by itself. It belongs to one call, so that a changed setting
/// holds from the next one on.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{Enhancement, Layer, MemoryEngine, Rewrite, Scope, llm::ScriptedModel};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "昨晚失眠了，凌晨三点才睡着").await?;
///
/// // "What is different about you today?" names nothing; what was said before it does.
/// let weak = "你今天有什么不一样？";
/// let enhanced = memory.recall_enhanced(&lin, weak, &Enhancement::new([("user", "我昨晚失眠了")])).await?;
/// assert_eq!(enhanced.layer, Layer::Context);
///
/// let rewrite = Rewrite::by(Arc::new(ScriptedModel::replying(["昨晚失眠 凌晨"]))).with_names("Lin", "Kai");
/// let enhancement = Enhancement::new([("user", "早")]).with_rewrite(rewrite);
/// let enhanced = memory.recall_enhanced(&lin, weak, &enhancement).await?;
/// assert_eq!((enhanced.layer, enhanced.asked.as_str()), (Layer::Rewritten, "昨晚失眠 凌晨"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Enhancement {
    /// The dialogue before the question: role and text, the oldest first.
    pub recent: Vec<(String, String)>,
    /// How long the question with its dialogue may be, in characters: 1200.
    pub max_chars: usize,
    /// Whether a question without anything to go by ("you remember?") is asked with its dialogue at once.
    pub weak_at_once: bool,
    /// How a model rewrites the question when the dialogue finds nothing either; it does not, when not set.
    pub rewrite: Option<Rewrite>,
}

/// How a model rewrites a question.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Rewrite {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// What it is told.
    pub prompt: String,
    /// What the user is called.
    pub user_name: String,
    /// What the character is called that the user talks to.
    pub char_name: String,
    /// How long it may take: 2.5 seconds.
    pub time: Duration,
}

/// Which text found what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The question as it is.
    Question,
    /// The question with the dialogue before it.
    Context,
    /// The question as a model rewrote it.
    Rewritten,
}

/// What was found, and by which layer.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Enhanced {
    /// The layer whose answer this is; the first one, when none found anything relevant.
    pub layer: Layer,
    /// The text that was searched with; of a dialogue what was said, and not who said it.
    pub asked: String,
    /// What was found.
    pub recall: Recall,
}

impl Enhancement {
    /// With this dialogue before the question: role and text, the oldest first. No model.
    pub fn new<R: Into<String>, T: Into<String>>(recent: impl IntoIterator<Item = (R, T)>) -> Self {
        let recent = recent.into_iter().map(|(role, text)| (role.into(), text.into())).collect();
        Self { recent, max_chars: MAX_CONTEXT_CHARS, weak_at_once: false, rewrite: None }
    }

    /// The question with its dialogue is at most so long.
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }

    /// A question without anything to go by is asked with its dialogue at once.
    pub fn weak_at_once(mut self) -> Self {
        self.weak_at_once = true;
        self
    }

    /// A model rewrites the question when everything else found nothing.
    pub fn with_rewrite(mut self, rewrite: Rewrite) -> Self {
        self.rewrite = Some(rewrite);
        self
    }
}

impl Rewrite {
    /// By this model, with the prompt of [`REWRITE_PROMPT`].
    pub fn by(model: Arc<dyn ChatModel>) -> Self {
        let (prompt, time) = (REWRITE_PROMPT.into(), Duration::from_millis(2500));
        Self { model, prompt, user_name: "User".into(), char_name: "Assistant".into(), time }
    }

    /// Tells the model this instead.
    pub fn with_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = prompt.into();
        self
    }

    /// The names of the two who talk.
    pub fn with_names(mut self, user: impl Into<String>, character: impl Into<String>) -> Self {
        (self.user_name, self.char_name) = (user.into(), character.into());
        self
    }

    /// The model may take so long.
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Returns the rewritten question. The model has the shorter of its own time limit and `left`.
    ///
    /// # Errors
    /// `Timeout`; the errors of the model; `Corrupt` for an empty answer.
    pub async fn ask(&self, question: &str, recent: &[(&str, &str)], left: Duration) -> Result<String> {
        let time = self.time.min(left);
        let request = RewriteRequest {
            user_name: self.user_name.clone(),
            char_name: self.char_name.clone(),
            user_question: question.to_owned(),
            recent_conversation: memory_engine_context::recent_conversation(recent, REWRITE_CHARS),
        };
        let messages = [Message::system(self.prompt.clone()), Message::user(request.to_json()?)];
        let request = ChatRequest::new(messages).with_temperature(0.0).with_max_tokens(200);
        let late = |_| Error::new(ErrorKind::Timeout, "rewrite", format!("no answer after {} ms", time.as_millis()));
        let reply = timeout(time, self.model.complete(&request)).await.map_err(late)??;
        let broken = || Error::new(ErrorKind::Corrupt, "rewrite", "the model did not answer with one plain line");
        parse_rewrite(&reply.text).ok_or_else(broken)
    }
}

/// The lines of a dialogue without the names before them: nobody looks for "user" and "question".
fn what_was_said(dialogue: &str) -> String {
    let said = |line: &str| line.split_once(": ").map_or_else(|| line.to_owned(), |(_, said)| said.to_owned());
    dialogue.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// Asks layer after layer until something relevant is found.
pub(crate) async fn recall(
    engine: &MemoryEngine,
    scope: &Scope,
    query: &RecallQuery,
    enhancement: &Enhancement,
) -> Result<Enhanced> {
    let began = Instant::now();
    let options = query.options.unwrap_or(*engine.options());
    let left = || options.deadline.saturating_sub(began.elapsed());
    let recent: Vec<(&str, &str)> = enhancement.recent.iter().map(|(r, t)| (r.as_str(), t.as_str())).collect();
    // What the model has before it anyway is no answer.
    let said: FxHashSet<String> = recent.iter().map(|(_, text)| text::normalize(text)).collect();
    let dates = pipeline::named_time(query, query.asked_at.unwrap_or_else(|| engine.clock().now()));
    let ask = async |layer, asked: String| {
        // One deadline for all layers; the last one is given a little in any case.
        let deadline = left().max(options.deadline / 10);
        let mut options = options.with_deadline(deadline);
        if layer == Layer::Context {
            options.relevant_words *= PART_OF_THE_CONTEXT;
        }
        let text = if layer == Layer::Context { what_was_said(&asked) } else { asked.clone() };
        let mut again = RecallQuery { text, ..query.clone() }.with_options(options);
        if layer != Layer::Question && query.only_then {
            // The stretch of time is the question's; what the dialogue names is none of its business.
            again.only_then = false;
            again = dates.clone().into_iter().fold(again, RecallQuery::with_filter);
        }
        let mut recall = engine.recall(scope, again).await?;
        if layer != Layer::Question {
            recall.hits.retain(|hit| !said.contains(&text::normalize(&hit.record.text)));
        }
        Ok::<_, Error>(Enhanced { layer, asked, recall })
    };
    let finds = |enhanced: &Enhanced| enhanced.recall.relevant().next().is_some();

    let with_context = !recent.is_empty();
    let mut first = None;
    if !(enhancement.weak_at_once && with_context && weak_question(&query.text)) {
        let enhanced = ask(Layer::Question, query.text.clone()).await?;
        if finds(&enhanced) {
            return Ok(enhanced);
        }
        first = Some(enhanced);
    }
    if with_context {
        let asked = contextual_query(&recent, &query.text, enhancement.max_chars);
        match (ask(Layer::Context, asked).await, &mut first) {
            (Ok(enhanced), _) if finds(&enhanced) => return Ok(enhanced),
            (Ok(enhanced), None) => first = Some(enhanced),
            (Ok(_), Some(_)) => {}
            (Err(e), Some(first)) => first.recall.lacks("context", &e),
            (Err(e), None) => return Err(e),
        }
    }
    let mut first = match first {
        Some(first) => first,
        None => ask(Layer::Question, query.text.clone()).await?,
    };
    let Some(rewrite) = &enhancement.rewrite else { return Ok(first) };
    if left().is_zero() {
        let late = Error::new(ErrorKind::Timeout, "rewrite", "no time was left for it");
        first.recall.lacks("rewrite", &late);
        return Ok(first);
    }
    let rewritten = match rewrite.ask(&query.text, &recent, left()).await {
        Ok(asked) => ask(Layer::Rewritten, asked).await,
        Err(e) => Err(e),
    };
    match rewritten {
        Ok(enhanced) if finds(&enhanced) => return Ok(enhanced),
        Ok(_) => {}
        Err(e) => first.recall.lacks("rewrite", &e),
    }
    Ok(first)
}
