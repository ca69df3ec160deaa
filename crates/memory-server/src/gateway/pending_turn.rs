//! The turn of a request, until its reply is known.

use std::time::Duration;

use memory_engine::MemoryEngine;
use tokio::time::timeout;

use super::{
    reply::ReplyAccumulator, requests::block_exchange, response_owner::ResponseOwner, session_state::OpenExchange,
    thread::assistant_text, turn::ChatTurn, turn_writer::TurnWriter,
};

/// The turn of a request, until its reply is known and it is stored.
pub(super) struct PendingTurn {
    /// `None` once it is stored, and for requests without memory.
    turn: Option<ChatTurn>,
    storage: TurnStorage,
    /// For replies that call tools.
    question: Option<OpenQuestion>,
    /// For replies that an upstream stores, so that a later request can continue them by their id.
    owner: Option<ResponseOwner>,
    /// Number of ids of the reply whose owner is recorded.
    owned_ids: usize,
}

/// The memories that were injected for a question. They are stored if the reply calls tools, within a time limit.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) engine: MemoryEngine,
    pub(super) exchange: OpenExchange,
    pub(super) time_limit: Duration,
}

/// The way in which a turn is stored, or kept out of the memory.
#[derive(Debug)]
pub(super) enum TurnStorage {
    /// It is stored.
    Write(TurnWriter),
    /// It is off the record: a tombstone prevents that it is stored later. With a time limit.
    Block(MemoryEngine, Duration),
    /// It is not stored.
    None,
}

/// The reason why a reply is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    ClientGone,
    BrokenOff,
    Failed,
}

impl Interruption {
    /// The name in the metadata of the stored reply.
    fn name(self) -> &'static str {
        match self {
            Self::ClientGone => "client_gone",
            Self::BrokenOff => "broken_off",
            Self::Failed => "failed",
        }
    }
}

impl PendingTurn {
    pub(super) fn new(
        turn: Option<ChatTurn>,
        storage: TurnStorage,
        question: Option<OpenQuestion>,
        owner: Option<ResponseOwner>,
    ) -> Self {
        Self { turn, storage, question, owner, owned_ids: 0 }
    }

    /// Records the owner and the turn of the response, and the owner of its items, as far as their ids are known. Call
    /// it before the client gets them.
    pub(super) async fn record_owner(&mut self, reply: &ReplyAccumulator) {
        let ids = reply.stored_ids();
        if let Some(owner) = &self.owner
            && ids.len() > self.owned_ids
        {
            owner.record(&ids[self.owned_ids..], reply.response_id(), self.turn.as_ref()).await;
            self.owned_ids = ids.len();
        }
    }

    /// Stores the turn with a complete reply. Returns false if it should have been stored and is not.
    pub(super) async fn store_complete(&mut self, reply: &ReplyAccumulator) -> bool {
        self.store(reply, None).await
    }

    /// Stores the turn with an incomplete reply. A turn that is stored already is left as it is.
    pub(super) async fn store_partial(&mut self, reply: &ReplyAccumulator, interruption: Interruption) {
        self.store(reply, Some(interruption)).await;
    }

    async fn store(&mut self, reply: &ReplyAccumulator, interruption: Option<Interruption>) -> bool {
        let Some(mut turn) = self.turn.take() else { return true };
        // A reply that calls tools is not the answer yet. The turn is stored with the answer.
        if reply.calls_tools() {
            return self.store_question(turn).await;
        }
        // A continued reply begins with the part that the client has.
        turn.exchange.assistant = assistant_text(&format!("{}{}", turn.exchange.assistant, reply.text()));
        // The client will repeat a question that the service did not answer.
        let is_unanswered =
            reply.text().is_empty() && matches!(interruption, Some(Interruption::BrokenOff | Interruption::Failed));
        if is_unanswered || (turn.exchange.user.is_empty() && turn.exchange.assistant.is_empty()) {
            return true;
        }
        turn.answered_at = Some(turn.clock.now());
        turn.partial_reason = match interruption {
            None => reply.is_truncated().then_some("too_long"),
            Some(interruption) => Some(interruption.name()),
        };
        self.storage.store(turn).await
    }

    /// Stores what the requests with the results of tools need. A client that continues a response by its id does not
    /// repeat the question, so that it is stored before its answer.
    async fn store_question(&self, mut turn: ChatTurn) -> bool {
        let Some(question) = &self.question else { return true };
        let store = question.exchange.store(&question.engine, &turn.address, turn.key.parent.as_ref());
        if !matches!(timeout(question.time_limit, store).await, Ok(Ok(()))) {
            tracing::warn!(
                id = turn.request_id(),
                "the memories of a question are not stored for the results of tools"
            );
        }
        if self.owner.is_none() || turn.exchange.user.is_empty() {
            return true;
        }
        turn.exchange.assistant.clear();
        self.storage.store(turn).await
    }
}

impl TurnStorage {
    /// Stores or blocks a turn. Returns false if that failed.
    async fn store(&self, turn: ChatTurn) -> bool {
        match self {
            Self::Write(writer) => writer.write(turn).await,
            Self::Block(engine, time_limit) => {
                let block = block_exchange(engine, &turn.address, &turn.key.key, &turn.exchange);
                matches!(timeout(*time_limit, block).await, Ok(Ok(_)))
            }
            Self::None => true,
        }
    }
}
