//! A turn whose reply comes in pieces.

use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result, Scope};
use memory_engine_llm::{ChatStream, FinishReason};

use super::{
    companion::Companion,
    message::{TurnReply, UserMessage},
    turn::{ModelReply, PreparedTurn, earlier_reply},
};
use crate::reply::ReplyFilter;

/// A reply as it comes: pieces of its text, and at the end what came of the turn.
pub type TurnStream = BoxStream<'static, Result<TurnPiece>>;

/// A part of a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TurnPiece {
    /// What the user may see next. Never a part of a thought or of the verdict.
    Text(String),
    /// The turn is over and stored. Its text is that of all pieces together.
    Done(Box<TurnReply>),
}

/// The state of a stream.
enum StreamState {
    Reading(Box<Reading>),
    Ended(Box<Reading>),
    Answered(Box<TurnReply>),
    Done(Box<TurnReply>),
    Finished,
}

struct Reading {
    companion: Companion,
    prepared: PreparedTurn,
    chat: ChatStream,
    filter: ReplyFilter,
    heard: ModelReply,
    finish: Option<FinishReason>,
}

impl Companion {
    /// Answers a message as [`turn`](Self::turn) does, and gives the reply while it comes.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), at once or as the last item of the stream: a reply that breaks off is not stored, and
    /// the message can be sent again under its id.
    ///
    /// # Cancel safety
    /// Dropping the stream before [`TurnPiece::Done`] gives the reply up; the message stays stored.
    pub async fn stream(&self, scope: &Scope, said: impl Into<UserMessage>) -> Result<TurnStream> {
        let started = self.start(scope, said.into()).await?;
        let state = if started.answered.is_some() {
            StreamState::Answered(Box::new(earlier_reply(started)))
        } else {
            let prepared = self.prepare(started).await?;
            let chat = self.model.stream(&prepared.request).await?;
            let (companion, filter, heard) = (self.clone(), ReplyFilter::default(), ModelReply::default());
            StreamState::Reading(Box::new(Reading { companion, prepared, chat, filter, heard, finish: None }))
        };
        Ok(futures::stream::try_unfold(state, step).boxed())
    }
}

async fn step(state: StreamState) -> Result<Option<(TurnPiece, StreamState)>> {
    match state {
        StreamState::Reading(mut reading) => {
            while let Some(delta) = reading.chat.try_next().await? {
                reading.finish = delta.finish.or(reading.finish);
                reading.heard.usage = delta.usage.or(reading.heard.usage);
                let shown = reading.filter.push(&delta.text);
                if !shown.is_empty() {
                    reading.heard.text.push_str(&shown);
                    return Ok(Some((TurnPiece::Text(shown), StreamState::Reading(reading))));
                }
            }
            if reading.finish.is_none() {
                let message = "the reply broke off before its end; the message is stored, and can be sent again";
                return Err(Error::new(ErrorKind::Unavailable, "companion", message));
            }
            let told = std::mem::take(&mut reading.filter).finish();
            reading.heard.verdict = told.verdict;
            reading.heard.text.push_str(&told.rest);
            if told.rest.is_empty() {
                return done(*reading).await;
            }
            Ok(Some((TurnPiece::Text(told.rest), StreamState::Ended(reading))))
        }
        StreamState::Ended(reading) => done(*reading).await,
        StreamState::Answered(reply) => {
            let text = reply.text.clone();
            let done = StreamState::Done(reply);
            Ok(Some((TurnPiece::Text(text), done)))
        }
        StreamState::Done(reply) => Ok(Some((TurnPiece::Done(reply), StreamState::Finished))),
        StreamState::Finished => Ok(None),
    }
}

async fn done(reading: Reading) -> Result<Option<(TurnPiece, StreamState)>> {
    let reply = reading.companion.conclude(reading.prepared, reading.heard).await?;
    Ok(Some((TurnPiece::Done(Box::new(reply)), StreamState::Finished)))
}
