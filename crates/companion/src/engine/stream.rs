//! A turn whose reply is streamed.

use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result, Scope};
use memory_engine_llm::{ChatStream, FinishReason};

use super::{
    companion::Companion,
    message::{TurnReply, UserMessage},
    turn::{ModelReply, PreparedTurn, earlier_reply},
};
use crate::reply::ReplyFilter;

/// A streamed reply: pieces of its text, then the result of the turn.
pub type TurnStream = BoxStream<'static, Result<TurnPiece>>;

/// A part of a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TurnPiece {
    /// The next text for the user, without thoughts and verdict.
    Text(String),
    /// The turn is complete and stored. Its text is the concatenation of all pieces.
    Done(Box<TurnReply>),
}

/// The state of a stream.
enum StreamState {
    Reading(Box<ReplyReader>),
    Ended(Box<ReplyReader>),
    Answered(Box<TurnReply>),
    Done(Box<TurnReply>),
    Finished,
}

struct ReplyReader {
    companion: Companion,
    prepared: PreparedTurn,
    chat: ChatStream,
    filter: ReplyFilter,
    reply: ModelReply,
    finish: Option<FinishReason>,
}

impl Companion {
    /// Answers a message as [`turn`](Self::turn) does, and streams the reply.
    ///
    /// # Errors
    /// The errors of [`turn`](Self::turn), immediately or as the last item of the stream. An incomplete reply is not
    /// stored, and the message can be sent again with its id.
    ///
    /// # Cancel safety
    /// If the stream is dropped before [`TurnPiece::Done`], the reply is lost; the message stays stored.
    pub async fn stream(&self, scope: &Scope, message: impl Into<UserMessage>) -> Result<TurnStream> {
        let started = self.start(scope, message.into()).await?;
        let state = if started.answered.is_some() {
            StreamState::Answered(Box::new(earlier_reply(started)))
        } else {
            let prepared = self.prepare(started).await?;
            let chat = self.model.stream(&prepared.request).await?;
            StreamState::Reading(Box::new(ReplyReader {
                companion: self.clone(),
                prepared,
                chat,
                filter: ReplyFilter::default(),
                reply: ModelReply::default(),
                finish: None,
            }))
        };
        Ok(futures::stream::try_unfold(state, step).boxed())
    }
}

/// Advances the stream by one piece.
async fn step(state: StreamState) -> Result<Option<(TurnPiece, StreamState)>> {
    match state {
        StreamState::Reading(mut reading) => {
            while let Some(delta) = reading.chat.try_next().await? {
                reading.finish = delta.finish.or(reading.finish);
                reading.reply.usage = delta.usage.or(reading.reply.usage);
                let shown = reading.filter.push(&delta.text);
                if !shown.is_empty() {
                    reading.reply.text.push_str(&shown);
                    return Ok(Some((TurnPiece::Text(shown), StreamState::Reading(reading))));
                }
            }
            if reading.finish.is_none() {
                let message = "the reply is incomplete: the model's stream ended early; \
                               the message is stored and can be sent again";
                return Err(Error::new(ErrorKind::Unavailable, "companion", message));
            }
            let end = std::mem::take(&mut reading.filter).finish();
            reading.reply.verdict = end.verdict;
            reading.reply.text.push_str(&end.rest);
            if end.rest.is_empty() {
                return finish_turn(*reading).await;
            }
            Ok(Some((TurnPiece::Text(end.rest), StreamState::Ended(reading))))
        }
        StreamState::Ended(reading) => finish_turn(*reading).await,
        StreamState::Answered(reply) => {
            let text = reply.text.clone();
            let done = StreamState::Done(reply);
            Ok(Some((TurnPiece::Text(text), done)))
        }
        StreamState::Done(reply) => Ok(Some((TurnPiece::Done(reply), StreamState::Finished))),
        StreamState::Finished => Ok(None),
    }
}

/// Stores the reply, and ends the stream with the result of the turn.
async fn finish_turn(reading: ReplyReader) -> Result<Option<(TurnPiece, StreamState)>> {
    let reply = reading.companion.conclude(reading.prepared, reading.reply).await?;
    Ok(Some((TurnPiece::Done(Box::new(reply)), StreamState::Finished)))
}
