//! Chains of responses: a request that names an earlier response continues its session.

use std::sync::Arc;

use memory_engine::{Field, Filter, MemoryEngine, Result, ScanQuery, Scope};

use super::{
    sessions::{Chain, SessionCache},
    thread::{ChatMessage, Speaker},
    turn::{RESPONSE, TURN_KEY, record_ids},
};

/// Records the chain of a response once its id is known.
#[derive(Debug)]
pub(super) struct ChainRecorder {
    pub(super) sessions: Arc<SessionCache>,
    pub(super) recall_scope: Scope,
    /// The conversation that the service stores.
    pub(super) conversation: Option<String>,
    /// The chain before the reply.
    pub(super) chain: Chain,
}

impl ChainRecorder {
    /// Records that a response continues the chain with a call of tools, to be continued with their results.
    pub(super) fn record_tool_call(&self, response: &str) {
        self.record(response, self.chain.clone());
    }

    /// Records that a response has answered the open turn.
    pub(super) fn record_answer(&self, response: &str, key: &str, user: &str, assistant: &str) {
        let messages = exchange_messages(user, assistant);
        let parent = Some(key.to_owned());
        self.record(response, Chain { session: self.chain.session.clone(), messages, parent });
    }

    fn record(&self, response: &str, chain: Chain) {
        let chain = Arc::new(chain);
        if let Some(conversation) = &self.conversation {
            self.sessions.set_chain(&self.recall_scope, conversation, Arc::clone(&chain));
        }
        self.sessions.set_chain(&self.recall_scope, response, chain);
    }
}

/// Returns the chain of a response from the cache or the stored turns; `None` if it is unknown to this user.
pub(super) async fn find_chain(
    engine: &MemoryEngine,
    sessions: &SessionCache,
    recall_scope: &Scope,
    response: &str,
) -> Result<Option<Arc<Chain>>> {
    if let Some(chain) = sessions.chain(recall_scope, response) {
        return Ok(Some(chain));
    }
    let query = ScanQuery::newest(1).with_filter(Filter::eq(Field::Metadata(RESPONSE.into()), response));
    let Some(reply) = engine.scan(recall_scope, &query).await?.records.into_iter().next() else { return Ok(None) };
    let (Some(session), Some(key)) = (reply.scope.session(), reply.metadata.get(TURN_KEY).and_then(|key| key.as_str()))
    else {
        return Ok(None);
    };
    let [user_id, _] = record_ids(&reply.scope, key);
    let user = engine.get_all(&reply.scope, &[user_id]).await?.into_iter().next().flatten();
    let messages = exchange_messages(user.as_ref().map_or("", |user| &user.text), &reply.text);
    Ok(Some(Arc::new(Chain { session: session.to_owned(), messages, parent: Some(key.to_owned()) })))
}

fn exchange_messages(user: &str, assistant: &str) -> Vec<ChatMessage> {
    [(Speaker::User, user), (Speaker::Assistant, assistant)]
        .into_iter()
        .map(|(speaker, text)| ChatMessage { speaker, text: text.to_owned(), calls_tools: false })
        .collect()
}
