//! The trait of chat models.

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
/// Dropping a future or a stream cancels the reply. The service may charge for the work done so far.
#[async_trait]
pub trait ChatModel: Debug + Send + Sync + 'static {
    /// Returns the name of the model in its service.
    fn name(&self) -> &str;

    /// Returns the complete reply. Reasoning is separate from the text.
    ///
    /// # Errors
    /// `InvalidInput` if there is no message or the service rejects the request; `Unavailable` if the reply is
    /// incomplete; other errors of the service. A complete reply is never an error, for any finish reason.
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply>;

    /// Returns the reply as a stream of deltas. Reasoning in tags is a part of the text until [`ChatReply::collect`]
    /// separates it.
    ///
    /// # Errors
    /// The errors of [`complete`](Self::complete), at once or as the last item of the stream. A stream without an error
    /// contains the complete reply: one that ends before its finish reason ends with `Unavailable`.
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
