//! Queries rewritten by a model.

use std::{sync::Arc, time::Duration};

use memory_engine_context::{REWRITE_PROMPT, RewriteRequest, parse_rewrite};
use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_llm::{ChatModel, ChatRequest, Message};
use tokio::time::timeout;

/// Maximum number of characters of dialogue that a model gets to rewrite a query.
const REWRITE_MAX_CHARS: usize = 4000;

/// A rewrite of a query by a model.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct Rewrite {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The system prompt.
    pub prompt: String,
    /// The name of the user.
    pub user_name: String,
    /// The name of the character that the user talks to.
    pub char_name: String,
    /// Time limit. Default: 2.5 s.
    pub time: Duration,
}

impl Rewrite {
    /// Rewrites with this model and the prompt of [`REWRITE_PROMPT`].
    pub fn by(model: impl ChatModel) -> Self {
        let (prompt, time) = (REWRITE_PROMPT.into(), Duration::from_millis(2500));
        Self { model: Arc::new(model), prompt, user_name: "User".into(), char_name: "Assistant".into(), time }
    }

    memory_engine_core::setters! {
        /// Sets the system prompt.
        with_prompt(prompt: impl Into<String>) => prompt = prompt.into();
        /// Sets the time limit of the model.
        with_time(time: Duration);
    }

    /// Sets the names of the two speakers.
    pub fn with_names(mut self, user: impl Into<String>, character: impl Into<String>) -> Self {
        self.user_name = user.into();
        self.char_name = character.into();
        self
    }

    /// Asks the model for a rewritten query, within its time limit and the time left.
    ///
    /// # Errors
    /// `Timeout`; `Corrupt` if the model does not answer with one plain line; the model's error.
    pub async fn ask(&self, question: &str, recent: &[(&str, &str)], left: Duration) -> Result<String> {
        let time = self.time.min(left);
        let request = RewriteRequest {
            user_name: self.user_name.clone(),
            char_name: self.char_name.clone(),
            user_question: question.to_owned(),
            recent_conversation: memory_engine_context::recent_conversation(recent, REWRITE_MAX_CHARS),
        };
        let messages = [Message::system(self.prompt.clone()), Message::user(request.to_json()?)];
        let request = ChatRequest::new(messages).with_temperature(0.0).with_max_tokens(200);
        let late = |_| Error::new(ErrorKind::Timeout, "rewrite", format!("no answer after {} ms", time.as_millis()));
        let reply = timeout(time, self.model.complete(&request)).await.map_err(late)??;
        let broken = || Error::new(ErrorKind::Corrupt, "rewrite", "the model did not answer with one plain line");
        parse_rewrite(&reply.text).ok_or_else(broken)
    }
}
