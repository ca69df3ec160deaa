//! Retracts the turns that a client removes by editing its history.

use std::collections::BTreeSet;

use memory_engine::{Record, RecordId, Result, Role, State, store::ContentHash};

use super::worker::TurnWorker;
use crate::gateway::{
    replacement::{read_turns, replaced_records},
    thread::EditedFirst,
    turn::{ChatTurn, StoredTurn, record_ids, with_text},
};

/// The reason under which the gateway retracts turns.
const EDIT_REASON: &str = "edited in the chat";
/// Maximum number of retractions of a session that are read.
const MAX_RETRACTIONS: usize = 200;

impl TurnWorker {
    /// Retracts the turns that follow an exchange in the history of this one and are not in it, those that follow
    /// `former_exchange`, which is this turn with the reply that it had before, and all turns after them. Retractions
    /// can be restored. The first turn of a history follows no exchange, so that a new conversation in an old session
    /// retracts nothing.
    pub(super) async fn retract_replaced_turns(&self, turn: &ChatTurn, former_exchange: Option<String>) -> Result<()> {
        if turn.key.follows.is_none() {
            return Ok(());
        }
        self.restore_history(turn).await?;
        let turns = read_turns(&self.engine, &turn.address).await?;
        let replaced = replaced_records(&turns, &turn.key, former_exchange);
        if !replaced.is_empty() {
            self.engine.history().retract(&turn.address, &replaced, EDIT_REASON).await?;
        }
        Ok(())
    }

    /// Retracts the only turn of a chat whose message the client has changed and sent again.
    pub(super) async fn retract_resent_message(&self, turn: &ChatTurn) -> Result<()> {
        let Some(EditedFirst { chat, turn, text: None }) = &turn.key.edited else { return Ok(()) };
        self.engine.history().retract(chat, &record_ids(chat, turn), EDIT_REASON).await.map(drop)
    }

    /// Returns the first message of the chat with the text that the client has given it.
    pub(super) async fn changed_first_message(&self, turn: &ChatTurn) -> Result<Option<Record>> {
        let Some(EditedFirst { chat, turn, text: Some(text) }) = &turn.key.edited else { return Ok(None) };
        let [id, _] = record_ids(chat, turn);
        let stored = self.engine.get(chat, id).await?.filter(|record| record.state == State::Active);
        Ok(stored.and_then(|stored| with_text(stored, text)))
    }

    /// Restores the retractions of turns that are in the history of this one: the client comes back from another
    /// branch, or from a shorter history.
    async fn restore_history(&self, turn: &ChatTurn) -> Result<()> {
        let ids: Vec<RecordId> =
            turn.key.history.iter().flat_map(|earlier| record_ids(&turn.address, &earlier.key)).collect();
        let stored = self.engine.get_all(&turn.address, &ids).await?.into_iter().flatten();
        let revoked: BTreeSet<RecordId> =
            stored.filter(|record| record.state == State::Revoked).map(|record| record.id).collect();
        if revoked.is_empty() {
            return Ok(());
        }
        let history = self.engine.history();
        for retraction in history.retractions(&turn.address, MAX_RETRACTIONS).await? {
            if retraction.reason == EDIT_REASON && retraction.records.iter().any(|id| revoked.contains(id)) {
                history.restore(&turn.address, retraction.id).await?;
            }
        }
        Ok(())
    }

    /// Returns the records of a turn that were retracted by someone else than the gateway. They must stay retracted
    /// when the turn is repeated. Records that the gateway has retracted are restored with their turn.
    pub(super) async fn retracted_by_others(&self, turn: &ChatTurn, stored: &StoredTurn) -> Result<Vec<RecordId>> {
        let screening = self.engine.screening();
        let user_text = screening.mask_within(&turn.address, turn.exchange.user.as_str()).await?;
        let reply_text = screening.mask_within(&turn.address, turn.exchange.assistant.as_str()).await?;
        let revoked: Vec<&Record> = [&stored.user, &stored.reply]
            .into_iter()
            .flatten()
            .filter(|record| record.state == State::Revoked)
            .filter(|record| {
                // A new reply is not the reply that was retracted.
                let is_reply = record.role == Some(Role::ASSISTANT);
                record.content_hash() == ContentHash::of(if is_reply { &reply_text } else { &user_text })
            })
            .collect();
        if revoked.is_empty() {
            return Ok(Vec::new());
        }
        let retractions = self.engine.history().retractions(&turn.address, MAX_RETRACTIONS).await?;
        let by_gateway: BTreeSet<RecordId> = retractions
            .into_iter()
            .filter(|retraction| retraction.reason == EDIT_REASON)
            .flat_map(|retraction| retraction.records)
            .collect();
        Ok(revoked.into_iter().map(|record| record.id).filter(|id| !by_gateway.contains(id)).collect())
    }
}
