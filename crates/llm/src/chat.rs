//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::Result;

use crate::{
    reply::{ChatReply, ChatStream},
    request::ChatRequest,
};

/// A language model that continues a conversation.
///
/// # Cancel safety
/// Dropping a future or a stream gives the reply up. What the model has done by then may have been paid for.
#[async_trait]
pub trait ChatModel: Debug + Send + Sync + 'static {
    /// The model's name, as its service knows it.
    fn name(&self) -> &str;

    /// The whole reply, thoughts apart.
    ///
    /// # Errors
    /// `InvalidInput` if there is no message or the service rejects the request; `Unavailable` if the reply is
    /// incomplete; other errors of the service. A complete reply is never an error, for any finish reason.
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply>;

    /// The reply in pieces, as the model writes them: a thought in tags is part of the text until
    /// [`ChatReply::collect`] moves it.
    ///
    /// # Errors
    /// As [`complete`](Self::complete), at once or as the last item of the stream. A stream without an error held the
    /// whole reply: one that breaks off before its finish reason ends with `Unavailable`, never quietly.
    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream>;
}

const _: fn(&dyn ChatModel) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: ChatModel + ?Sized> ChatModel for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }
            async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
                (**self).complete(request).await
            }
            async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
                (**self).stream(request).await
            }
        }
    )*};
}

forward!(Arc, Box);
