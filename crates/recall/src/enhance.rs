//! Queries that say too little, asked again with the dialogue before them: form by form, from the cheap to the costly.

use std::time::Duration;

use memory_engine_context::{
    MAX_CONTEXT_CHARS, contextual_query, contextual_search_text, is_backchannel, weak_question,
};
use memory_engine_core::{Error, ErrorKind, Result, Scope, enum_names, text};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    hit::Recall,
    options::RecallOptions,
    parts::RecallParts,
    plan::{query_zone, time_filter},
    query::RecallQuery,
    recall::recall,
    rewrite::Rewrite,
};

/// The ways to ask again if a query finds nothing relevant by itself. It belongs to one call, so that a changed setting
/// holds from the next call on.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{MemoryEngine, Scope, llm::ScriptedModel, recall::{Enhancement, QueryForm, Rewrite}};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "昨晚失眠了，凌晨三点才睡着").await?;
///
/// // "What is different about you today?" names nothing; what was said before it does.
/// let weak = "你今天有什么不一样？";
/// let enhanced = memory.recall_enhanced(&lin, weak, &Enhancement::new([("user", "我昨晚失眠了")])).await?;
/// assert_eq!(enhanced.form, QueryForm::Context);
///
/// let rewrite = Rewrite::by(Arc::new(ScriptedModel::replying(["昨晚失眠 凌晨"]))).with_names("Lin", "Kai");
/// let enhancement = Enhancement::new([("user", "早")]).with_rewrite(rewrite);
/// let enhanced = memory.recall_enhanced(&lin, weak, &enhancement).await?;
/// assert_eq!((enhanced.form, enhanced.asked.as_str()), (QueryForm::Rewritten, "昨晚失眠 凌晨"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Enhancement {
    /// The dialogue before the query: role and text, the oldest first.
    pub recent: Vec<(String, String)>,
    /// Maximum length of the query with its dialogue, in characters. Default: 1200.
    pub max_chars: usize,
    /// True if a query without content words ("you remember?") is asked with its dialogue at once. Default: false.
    pub weak_at_once: bool,
    /// Rewrites the query with a model if the dialogue finds nothing either. Default: none; then that of the engine.
    pub rewrite: Option<Rewrite>,
}

/// The text that a result was found with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueryForm {
    /// The query as it is.
    Question,
    /// The query with the dialogue before it.
    Context,
    /// The query as a model rewrote it.
    Rewritten,
}

enum_names! {
    QueryForm, "form of the query" {
        Question => "question",
        Context => "context",
        Rewritten => "rewritten",
    }
}

/// A result, and the form of the query that found it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EnhancedRecall {
    /// The form of the query; the question as asked if none found anything relevant.
    pub form: QueryForm,
    /// The text of the query; of a dialogue without the names of the speakers.
    pub asked: String,
    /// The result.
    pub recall: Recall,
}

impl EnhancedRecall {
    fn is_relevant(&self) -> bool {
        self.recall.relevant().next().is_some()
    }
}

impl Enhancement {
    /// With this dialogue before the query: role and text, the oldest first. No model.
    pub fn new<R: Into<String>, T: Into<String>>(recent: impl IntoIterator<Item = (R, T)>) -> Self {
        let recent = recent.into_iter().map(|(role, text)| (role.into(), text.into())).collect();
        Self { recent, max_chars: MAX_CONTEXT_CHARS, weak_at_once: false, rewrite: None }
    }

    memory_engine_core::setters! {
        /// Sets the maximum length of the query with its dialogue, in characters.
        with_max_chars(max_chars: usize);
        /// Rewrites the query with a model if everything else finds nothing.
        with_rewrite(rewrite: Rewrite) => rewrite = Some(rewrite);
    }

    /// Asks a query without content words with its dialogue at once.
    pub fn weak_at_once(mut self) -> Self {
        self.weak_at_once = true;
        self
    }
}

/// One enhanced recall: asks form after form, under one deadline, until something relevant is found.
pub(crate) struct EnhancedRun<'a> {
    parts: &'a RecallParts,
    scope: &'a Scope,
    query: &'a RecallQuery,
    enhancement: &'a Enhancement,
    options: RecallOptions,
    began: Instant,
    recent: Vec<(&'a str, &'a str)>,
    /// The texts of the dialogue: what the model has in its context is no answer.
    said: FxHashSet<String>,
}

impl<'a> EnhancedRun<'a> {
    pub(crate) fn new(
        parts: &'a RecallParts,
        scope: &'a Scope,
        query: &'a RecallQuery,
        enhancement: &'a Enhancement,
    ) -> Self {
        let began = Instant::now();
        let options = query.options.unwrap_or(parts.options);
        let recent: Vec<(&str, &str)> = enhancement.recent.iter().map(|(r, t)| (r.as_str(), t.as_str())).collect();
        let said = recent.iter().map(|(_, text)| text::normalize(text)).collect();
        Self { parts, scope, query, enhancement, options, began, recent, said }
    }

    pub(crate) async fn recall(&self) -> Result<EnhancedRecall> {
        // After an exchange of greetings, the query with its dialogue says no more than the query.
        let has_context = !self.recent.iter().all(|(_, text)| is_backchannel(text));
        let is_weak = self.enhancement.weak_at_once && has_context && weak_question(&self.query.text);
        let mut first = None;
        if !is_weak {
            let enhanced = self.ask(QueryForm::Question, self.query.text.clone()).await?;
            if enhanced.is_relevant() {
                return Ok(enhanced);
            }
            first = Some(enhanced);
        }
        if has_context {
            let text = contextual_query(&self.recent, &self.query.text, self.enhancement.max_chars);
            match (self.ask(QueryForm::Context, text).await, &mut first) {
                (Ok(enhanced), _) if enhanced.is_relevant() => return Ok(enhanced),
                (Ok(enhanced), None) => first = Some(enhanced),
                (Ok(_), Some(_)) => {}
                (Err(e), Some(first)) => first.recall.add_degraded("context", &e),
                (Err(e), None) => return Err(e),
            }
        }
        let first = match first {
            Some(first) => first,
            None => self.ask(QueryForm::Question, self.query.text.clone()).await?,
        };
        match self.enhancement.rewrite.as_ref().or(self.parts.rewrite.as_ref()) {
            Some(rewrite) => Ok(self.ask_rewritten(rewrite, first).await),
            None => Ok(first),
        }
    }

    /// Asks with the query as a model rewrites it. Returns the first answer if that finds nothing relevant.
    async fn ask_rewritten(&self, rewrite: &Rewrite, mut first: EnhancedRecall) -> EnhancedRecall {
        if self.time_left().is_zero() {
            let late = Error::new(ErrorKind::Timeout, "rewrite", "no time was left for it");
            first.recall.add_degraded("rewrite", &late);
            return first;
        }
        let rewritten = match rewrite.ask(&self.query.text, &self.recent, self.time_left()).await {
            Ok(text) => self.ask(QueryForm::Rewritten, text).await,
            Err(e) => Err(e),
        };
        match rewritten {
            Ok(enhanced) if enhanced.is_relevant() => return enhanced,
            Ok(_) => {}
            Err(e) => first.recall.add_degraded("rewrite", &e),
        }
        first
    }

    fn time_left(&self) -> Duration {
        self.options.deadline.saturating_sub(self.began.elapsed())
    }

    async fn ask(&self, form: QueryForm, asked: String) -> Result<EnhancedRecall> {
        // One deadline for all forms; the last one gets a tenth of it in any case.
        let deadline = self.time_left().max(self.options.deadline / 10);
        let options = self.options.with_deadline(deadline);
        let text = match form {
            QueryForm::Context => contextual_search_text(&self.recent, &self.query.text, self.enhancement.max_chars),
            QueryForm::Question | QueryForm::Rewritten => asked.clone(),
        };
        let has_context = form == QueryForm::Context;
        let mut query = RecallQuery { text, has_context, ..self.query.clone() }.with_options(options);
        if form != QueryForm::Question && query.only_then {
            // The time is that of the query, not one that the dialogue names.
            query.only_then = false;
            let asked_at = self.query.asked_at.or(self.query.as_of).unwrap_or_else(|| self.parts.store.clock().now());
            let zone = query_zone(self.parts, self.scope, self.query).await;
            query = time_filter(self.query, asked_at, &zone).into_iter().fold(query, RecallQuery::with_filter);
        }
        let mut recall = recall(self.parts, self.scope, &query).await?;
        if form != QueryForm::Question {
            recall.hits.retain(|hit| !self.said.contains(&text::normalize(&hit.record.text)));
        }
        Ok(EnhancedRecall { form, asked, recall })
    }
}
