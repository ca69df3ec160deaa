//! Conversion for clients whose dialect the upstream does not speak. The upstream then gets chat completions.

use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
};
use memory_engine_dialects::{messages, responses};
use memory_engine_intake::without_lone_surrogates;
use serde_json::Value;

use super::{dialect::Dialect, relay::has_credentials};
use crate::fault::Fault;

/// Converts one exchange.
#[derive(Debug)]
pub(super) struct Conversion {
    client: Dialect,
    /// The request of the client. Responses repeat parts of it.
    request: Value,
}

impl Conversion {
    /// Converts a request to chat completions, and returns the new body.
    ///
    /// # Errors
    /// 400 for fields without a counterpart, with the name of the field.
    pub(super) fn of_request(client: Dialect, body: &[u8]) -> Result<(Self, Bytes), Fault> {
        let request = read_json(body).ok_or_else(|| Fault::bad_request("the body is not a JSON object"))?;
        let chat = match client {
            Dialect::Chat => Ok(request.clone()),
            Dialect::Messages => messages::chat_request(&request),
            Dialect::Responses => responses::chat_request(&request),
        };
        let chat = chat.map_err(|e| Fault::bad_request(e.to_string()))?;
        Ok((Self { client, request }, Bytes::from(chat.to_string())))
    }

    /// Converts the body of a response that is not streamed.
    ///
    /// # Errors
    /// 502 for a reply that the client's dialect cannot express.
    pub(super) fn body(&self, status: StatusCode, body: Bytes, service: &str) -> Result<Bytes, Fault> {
        // The caller reports a body that is not JSON.
        let Some(chat) = read_json(&body) else { return Ok(body) };
        let code = status.as_u16();
        let converted = match (self.client, status.is_success()) {
            (Dialect::Chat, _) => return Ok(body),
            (Dialect::Messages, true) => messages::reply(&chat),
            (Dialect::Messages, false) => Ok(messages::error(code, &chat)),
            (Dialect::Responses, true) => responses::reply(&self.request, &chat),
            (Dialect::Responses, false) => Ok(responses::error(code, &chat)),
        };
        let converted = converted.map_err(|e| {
            let message = format!("the reply of the upstream '{service}' cannot be converted: {e}");
            Fault::new(StatusCode::BAD_GATEWAY, message)
        })?;
        Ok(Bytes::from(converted.to_string()))
    }

    /// Returns the converter of a streamed reply; `None` if there is nothing to convert.
    pub(super) fn events(&self) -> Option<EventConverter> {
        match self.client {
            Dialect::Chat => None,
            Dialect::Messages => Some(EventConverter::Messages(messages::EventStream::new())),
            Dialect::Responses => Some(EventConverter::Responses(responses::EventStream::new(&self.request))),
        }
    }
}

/// Converts the events of a streamed reply.
#[derive(Debug)]
pub(super) enum EventConverter {
    Messages(messages::EventStream),
    Responses(responses::EventStream),
}

impl EventConverter {
    /// Converts the data of one event to the events that follow from it, as they are sent.
    pub(super) fn push(&mut self, data: &str) -> String {
        if data.trim() == "[DONE]" {
            return self.finish();
        }
        let Ok(chunk) = serde_json::from_str(&without_lone_surrogates(data)) else { return String::new() };
        event_lines(&match self {
            Self::Messages(stream) => stream.push(&chunk),
            Self::Responses(stream) => stream.push(&chunk),
        })
    }

    /// Returns the events at the end of the reply. Empty if they have been returned.
    pub(super) fn finish(&mut self) -> String {
        event_lines(&match self {
            Self::Messages(stream) => stream.finish(),
            Self::Responses(stream) => stream.finish(),
        })
    }
}

fn event_lines(events: &[Value]) -> String {
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"));
    events.iter().map(line).collect()
}

fn read_json(body: &[u8]) -> Option<Value> {
    serde_json::from_str(&without_lone_surrogates(std::str::from_utf8(body).ok()?)).ok()
}

/// Replaces the headers of Anthropic's API by those of OpenAI's: the key of the client becomes a bearer token, unless
/// the client sends one.
pub(super) fn chat_headers(mut headers: HeaderMap) -> HeaderMap {
    let of_anthropic: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("anthropic-")).cloned().collect();
    for name in of_anthropic {
        headers.remove(name);
    }
    let key = headers.remove("x-api-key");
    let bearer = key.as_ref().and_then(|key| format!("Bearer {}", key.to_str().ok()?.trim()).parse().ok());
    if let Some(bearer) = bearer.filter(|_| !headers.get(AUTHORIZATION).is_some_and(has_credentials)) {
        headers.insert(AUTHORIZATION, bearer);
    }
    headers
}

#[cfg(test)]
mod tests;
