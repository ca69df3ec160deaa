//! Continuations: a request that names an earlier response or conversation instead of repeating its messages.

use std::sync::Arc;

use memory_engine::{Field, Filter, MemoryEngine, Result, ScanQuery, Scope, State};

use super::{
    sessions::{Continuation, SessionCache, active_turns},
    thread::exchange_messages,
    turn::{RESPONSE_ID, TURN_KEY, record_ids},
};

/// Maximum size of the texts of a continuation in the cache, in bytes. A longer one is read from the store.
const MAX_CACHED_BYTES: usize = 64 * 1024;

/// Caches the continuation under the ids of the response and the conversation, once the former is known.
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
    /// Records a response that calls tools. Their results, in the next request, belong to the same open exchange, so
    /// the call itself is not recorded.
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
        let bytes: usize =
            continuation.messages.iter().map(|message| message.texts.iter().map(String::len).sum::<usize>()).sum();
        if bytes > MAX_CACHED_BYTES {
            return;
        }
        let continuation = Arc::new(continuation);
        if let Some(conversation_id) = &self.conversation_id {
            self.sessions.set_continuation(&self.recall_scope, conversation_id, Arc::clone(&continuation));
        }
        self.sessions.set_continuation(&self.recall_scope, response_id, continuation);
    }
}

/// Returns the continuation for the id of a response or conversation; `None` if this user has none.
///
/// The cache has the ids of recent responses and conversations. The store has only the ids of responses that answered a
/// stored turn, without those that were retracted or forgotten. A cached text that was forgotten since helps to find
/// memories, as if the client had sent it; it is never stored again.
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
