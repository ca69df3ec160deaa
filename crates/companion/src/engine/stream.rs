//! A turn whose reply comes in pieces.

use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result, Scope};
use memory_engine_llm::{ChatStream, FinishReason};

use super::{
    companion::Companion,
    message::{Said, TurnReply},
    turn::{Asked, Heard, repeated},
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

/// Where a stream is.
enum At {
    Reading(Box<Reading>),
    Ended(Box<Reading>),
    Answered(Box<TurnReply>),
    Done(Box<TurnReply>),
    Over,
}

struct Reading {
    companion: Companion,
    asked: Asked,
    chat: ChatStream,
    filter: ReplyFilter,
    heard: Heard,
    finish: Option<FinishReason>,
}

impl Companion {
    /// Answers a message as [`turn`](Self::turn) does, and gives the reply while it comes.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), at once or as the last item of the stream: a reply that breaks off is not stored, and the
    /// message can be sent again under its id.
    ///
    /// # Cancel safety
    /// Dropping the stream before [`TurnPiece::Done`] gives the reply up; the message stays stored.
    pub async fn stream(&self, scope: &Scope, said: impl Into<Said>) -> Result<TurnStream> {
        let begun = self.begin(scope, said.into()).await?;
        let at = if begun.answered.is_some() {
            At::Answered(Box::new(repeated(begun)))
        } else {
            let asked = self.ask(begun).await?;
            let chat = self.model.stream(&asked.request).await?;
            let (companion, filter, heard) = (self.clone(), ReplyFilter::default(), Heard::default());
            At::Reading(Box::new(Reading { companion, asked, chat, filter, heard, finish: None }))
        };
        Ok(futures::stream::try_unfold(at, step).boxed())
    }
}

async fn step(at: At) -> Result<Option<(TurnPiece, At)>> {
    match at {
        At::Reading(mut reading) => {
            while let Some(delta) = reading.chat.try_next().await? {
                reading.finish = delta.finish.or(reading.finish);
                reading.heard.usage = delta.usage.or(reading.heard.usage);
                let shown = reading.filter.push(&delta.text);
                if !shown.is_empty() {
                    reading.heard.text.push_str(&shown);
                    return Ok(Some((TurnPiece::Text(shown), At::Reading(reading))));
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
            Ok(Some((TurnPiece::Text(told.rest), At::Ended(reading))))
        }
        At::Ended(reading) => done(*reading).await,
        At::Answered(reply) => {
            let text = reply.text.clone();
            let done = At::Done(reply);
            Ok(Some((TurnPiece::Text(text), done)))
        }
        At::Done(reply) => Ok(Some((TurnPiece::Done(reply), At::Over))),
        At::Over => Ok(None),
    }
}

async fn done(reading: Reading) -> Result<Option<(TurnPiece, At)>> {
    let reply = reading.companion.conclude(reading.asked, reading.heard).await?;
    Ok(Some((TurnPiece::Done(Box::new(reply)), At::Over)))
}
