//! OpenAI-compatible chat.

pub(crate) mod options;
mod wire;

use std::env;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_llm::{ChatModel, ChatReply, ChatRequest, ChatStream};
use reqwest::Method;

pub use options::{ChatOptions, JsonMode};

use crate::{
    client::{Call, HttpClient},
    endpoint::Endpoint,
    preset::Preset,
    sse::SseEvents,
};
use wire::OPERATION;

/// A chat model behind an OpenAI-compatible API: requests go to the path `chat/completions` below the endpoint.
#[derive(Debug)]
pub struct HttpChatModel {
    client: HttpClient,
    endpoint: Endpoint,
    options: ChatOptions,
}

impl HttpChatModel {
    /// Creates a client for a model at an endpoint. Sends nothing.
    ///
    /// # Errors
    /// `InvalidInput` if the name of the model is empty.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: ChatOptions) -> Result<Self> {
        if options.model.is_empty() {
            return Err(Error::invalid(OPERATION, "the name of the chat model is empty; set ChatOptions::model"));
        }
        Ok(Self { client, endpoint, options })
    }

    /// Creates the chat model of the environment: the service `CHAT_SERVICE` ([a preset](Preset)) with the model
    /// `CHAT_MODEL`, by default the one of the preset. Returns `None` if `CHAT_SERVICE` is not set.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown service, or if neither `CHAT_MODEL` nor the preset names a model; the errors of
    /// [`Preset::endpoint`].
    pub fn from_env(client: HttpClient) -> Result<Option<Self>> {
        let Some(service) = Preset::from_variable("CHAT_SERVICE")? else { return Ok(None) };
        let mut options = service.chat().unwrap_or_default();
        options.model = env::var("CHAT_MODEL").unwrap_or(options.model);
        Self::new(client, service.endpoint()?, options).map(Some)
    }

    fn call(&self, request: &ChatRequest, streamed: bool) -> Result<Call> {
        if request.messages.is_empty() {
            return Err(Error::invalid(OPERATION, "the request has no messages; at least one is needed"));
        }
        let body = wire::request(&self.options, request, streamed);
        Call::new(OPERATION, Method::POST, &self.endpoint, &["chat", "completions"]).with_json(&body)
    }
}

#[async_trait]
impl ChatModel for HttpChatModel {
    fn name(&self) -> &str {
        &self.options.model
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        let completion: wire::Completion = self.client.json(self.call(request, false)?).await?;
        Ok(completion.reply(&self.endpoint.host())?.with_thoughts_apart())
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let call = self.call(request, true)?;
        let response = self.client.open(&call).await?;
        let reader = StreamReader {
            response,
            events: SseEvents::new(self.client.max_response_bytes()),
            host: self.endpoint.host(),
            has_finish_reason: false,
            is_closed: false,
        };
        Ok(stream::unfold(reader, StreamReader::next).boxed())
    }
}

/// Reads the deltas of a streamed reply.
struct StreamReader {
    response: reqwest::Response,
    events: SseEvents,
    host: String,
    /// True if the finish reason was received.
    has_finish_reason: bool,
    /// True after an error. The stream then ends.
    is_closed: bool,
}

impl StreamReader {
    async fn next(mut self) -> Option<(Result<memory_engine_llm::ChatDelta>, Self)> {
        if self.is_closed {
            return None;
        }
        let item = self.read().await.transpose()?;
        self.is_closed = item.is_err();
        Some((item, self))
    }

    /// Returns the next delta, or `None` if the reply is complete.
    async fn read(&mut self) -> Result<Option<memory_engine_llm::ChatDelta>> {
        loop {
            while let Some(data) = self.events.next()? {
                if data == "[DONE]" {
                    return self.end(None);
                }
                let Some(delta) = wire::chunk(&data, &self.host)? else { continue };
                self.has_finish_reason |= delta.finish.is_some();
                return Ok(Some(delta));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.events.feed(&bytes)?,
                Ok(None) => return self.end(None),
                Err(e) => return self.end(Some(e.without_url())),
            }
        }
    }

    /// Ends the stream. Without a finish reason the reply is incomplete, even if the connection was closed properly.
    fn end(&self, error: Option<reqwest::Error>) -> Result<Option<memory_engine_llm::ChatDelta>> {
        if self.has_finish_reason {
            return Ok(None);
        }
        let is_timeout = error.as_ref().is_some_and(reqwest::Error::is_timeout);
        let (kind, problem) = if is_timeout {
            (ErrorKind::Timeout, "stopped for longer than the read timeout")
        } else {
            (ErrorKind::Unavailable, "broke off before its finish reason")
        };
        let incomplete = Error::new(kind, OPERATION, format!("the reply of {} {problem}", self.host));
        Err(match error {
            Some(error) => incomplete.with_source(error),
            None => incomplete,
        })
    }
}
