//! Continuations: a request that names an earlier response or conversation instead of repeating its messages.

use std::sync::Arc;

use memory_engine::{Field, Filter, MemoryEngine, Result, ScanQuery, Scope, State};

use super::{
    sessions::{Continuation, SessionCache, active_turns},
    thread::{ChatMessage, Speaker},
    turn::{RESPONSE_ID, TURN_KEY, record_ids},
};

/// Records what a later request continues, once the id of the response is known.
#[derive(Debug)]
pub(super) struct ContinuationRecorder {
    pub(super) sessions: Arc<SessionCache>,
    pub(super) recall_scope: Scope,
    /// The id of the conversation that the service stores.
    pub(super) conversation_id: Option<String>,
    /// The conversation before the reply.
    pub(super) before_reply: Continuation,
}

impl ContinuationRecorder {
    /// Records a response that calls tools. It is continued with their results.
    pub(super) fn record_tool_call(&self, response_id: &str) {
        self.record(response_id, self.before_reply.clone());
    }

    /// Records a response that has answered the open turn.
    pub(super) fn record_answer(&self, response_id: &str, turn_key: &str, user: &str, assistant: &str) {
        let session = self.before_reply.session.clone();
        let messages = exchange_messages(user, assistant);
        self.record(response_id, Continuation { session, messages, parent: Some(turn_key.to_owned()) });
    }

    fn record(&self, response_id: &str, continuation: Continuation) {
        let continuation = Arc::new(continuation);
        if let Some(conversation_id) = &self.conversation_id {
            self.sessions.set_continuation(&self.recall_scope, conversation_id, Arc::clone(&continuation));
        }
        self.sessions.set_continuation(&self.recall_scope, response_id, continuation);
    }
}

/// Returns what a request with this id of a response or conversation continues; `None` if this user has no such id.
///
/// The cache has the ids of recent responses and conversations. The store has only the ids of responses that answered a
/// stored turn. Turns that were retracted or forgotten are not continued.
pub(super) async fn find_continuation(
    engine: &MemoryEngine,
    sessions: &SessionCache,
    recall_scope: &Scope,
    id: &str,
) -> Result<Option<Arc<Continuation>>> {
    match sessions.continuation(recall_scope, id) {
        Some(continuation) => Ok(Some(continuation)),
        None => Ok(read_continuation(engine, recall_scope, id).await?.map(Arc::new)),
    }
}

async fn read_continuation(engine: &MemoryEngine, recall_scope: &Scope, id: &str) -> Result<Option<Continuation>> {
    let replies = active_turns().and(Filter::eq(Field::Metadata(RESPONSE_ID.into()), id));
    let page = engine.scan(recall_scope, &ScanQuery::newest(1).with_filter(replies)).await?;
    let Some(reply) = page.records.into_iter().next() else { return Ok(None) };
    let turn_key = reply.metadata.get(TURN_KEY).and_then(|key| key.as_str());
    let (Some(session), Some(turn_key)) = (reply.scope.session(), turn_key) else { return Ok(None) };
    let [user_id, _] = record_ids(&reply.scope, turn_key);
    let question = engine.get_all(&reply.scope, &[user_id]).await?.into_iter().next().flatten();
    let question = question.filter(|record| record.state == State::Active);
    let messages = exchange_messages(question.as_ref().map_or("", |record| &record.text), &reply.text);
    Ok(Some(Continuation { session: session.to_owned(), messages, parent: Some(turn_key.to_owned()) }))
}

fn exchange_messages(user: &str, assistant: &str) -> Vec<ChatMessage> {
    let message = |speaker, text: &str| ChatMessage { speaker, text: text.to_owned(), calls_tools: false };
    vec![message(Speaker::User, user), message(Speaker::Assistant, assistant)]
}

/// Returns the open exchange and the one before it. The rest of a long history is not needed to continue it.
pub(super) fn latest_exchanges<'m>(messages: impl IntoIterator<Item = &'m ChatMessage>) -> Vec<ChatMessage> {
    let mut exchanges: Vec<Vec<ChatMessage>> = vec![Vec::new()];
    let mut is_answered = false;
    for message in messages {
        // Consecutive messages of the user, and those between calls of tools, are in one exchange.
        if message.speaker == Speaker::User && is_answered {
            exchanges.push(Vec::new());
        }
        is_answered = match message.speaker {
            Speaker::User => false,
            Speaker::Assistant => is_answered || (!message.calls_tools && !message.text.is_empty()),
            Speaker::System | Speaker::Tool | Speaker::Unknown => is_answered,
        };
        if let Some(open) = exchanges.last_mut() {
            open.push(message.clone());
        }
    }
    let start = exchanges.len().saturating_sub(2);
    exchanges.drain(start..).flatten().collect()
}

#[cfg(test)]
mod tests;
