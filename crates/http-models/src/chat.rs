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
    /// A model at an endpoint. Nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidInput` when the model has no name.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: ChatOptions) -> Result<Self> {
        if options.model.is_empty() {
            return Err(Error::invalid(OPERATION, "a model's name is needed"));
        }
        Ok(Self { client, endpoint, options })
    }

    /// The model of the service that `CHAT_SERVICE` names ([a preset](Preset)), and of that service the one in
    /// `CHAT_MODEL`, if there is one; `None` when no service is named.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown service or one without a default model; the errors of [`Preset::endpoint`].
    pub fn from_env(client: HttpClient) -> Result<Option<Self>> {
        let Some(service) = Preset::named_by("CHAT_SERVICE")? else { return Ok(None) };
        let mut options = service.chat().unwrap_or_default();
        options.model = env::var("CHAT_MODEL").unwrap_or(options.model);
        Self::new(client, service.endpoint()?, options).map(Some)
    }

    fn call(&self, request: &ChatRequest, streamed: bool) -> Result<Call> {
        if request.messages.is_empty() {
            return Err(Error::invalid(OPERATION, "there is no message to answer"));
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
        let answer: wire::Completion = self.client.json(self.call(request, false)?).await?;
        Ok(answer.reply(&self.endpoint.host())?.with_thoughts_apart())
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let call = self.call(request, true)?;
        let response = self.client.open(&call).await?;
        let reading = StreamReader {
            response,
            events: SseEvents::new(self.client.max_response_bytes()),
            host: self.endpoint.host(),
            finished: false,
            over: false,
        };
        Ok(stream::unfold(reading, StreamReader::next).boxed())
    }
}

/// A stream that is being read.
struct StreamReader {
    response: reqwest::Response,
    events: SseEvents,
    host: String,
    /// True once the finish reason was received.
    finished: bool,
    over: bool,
}

impl StreamReader {
    async fn next(mut self) -> Option<(Result<memory_engine_llm::ChatDelta>, Self)> {
        if self.over {
            return None;
        }
        let item = self.read().await.transpose()?;
        self.over = item.is_err();
        Some((item, self))
    }

    /// The next piece; `None` when the reply is there as a whole.
    async fn read(&mut self) -> Result<Option<memory_engine_llm::ChatDelta>> {
        loop {
            while let Some(data) = self.events.next()? {
                if data == "[DONE]" {
                    return self.end(None);
                }
                let Some(delta) = wire::chunk(&data, &self.host)? else { continue };
                self.finished |= delta.finish.is_some();
                return Ok(Some(delta));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.events.feed(&bytes)?,
                Ok(None) => return self.end(None),
                Err(e) => return self.end(Some(e.without_url())),
            }
        }
    }

    /// A reply without a finish reason was not whole, however properly the connection was closed.
    fn end(&self, error: Option<reqwest::Error>) -> Result<Option<memory_engine_llm::ChatDelta>> {
        if self.finished {
            return Ok(None);
        }
        let late = error.as_ref().is_some_and(reqwest::Error::is_timeout);
        let (kind, what) = if late {
            (ErrorKind::Timeout, "did not go on in time")
        } else {
            (ErrorKind::Unavailable, "broke off before its end")
        };
        let broken = Error::new(kind, OPERATION, format!("the reply of {} {what}", self.host));
        Err(match error {
            Some(error) => broken.with_source(error),
            None => broken,
        })
    }
}
