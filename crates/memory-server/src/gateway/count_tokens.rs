//! `POST /v1/messages/count_tokens`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use memory_engine::context::{EstimatedTokens, TokenCounter};
use serde_json::{Value, json};

use super::{
    body::ChatBody, conversion::Conversion, dialect::Dialect, relay::dialect_request, state::GatewayState,
    upstream::Route,
};
use crate::{access::Access, fault::Fault};

/// Counts the tokens of a request in Anthropic's dialect. The upstream counts if it speaks the dialect; for any other
/// one the number is estimated.
pub(super) async fn count_tokens(State(gateway): State<Arc<GatewayState>>, _: Access, request: Request) -> Response {
    let counted = gateway.count_tokens(request).await;
    counted.unwrap_or_else(|fault| Dialect::Messages.error_response(fault))
}

impl GatewayState {
    async fn count_tokens(&self, request: Request) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        let body = ChatBody::read(self.read_body(body).await?, Dialect::Messages).map_err(Fault::bad_request)?;
        let Route { service, model } = self.route(body.model())?;
        let bytes = body.edited(model.as_deref(), "", self.options.placement);
        if service.speaks(Dialect::Messages) {
            let request = dialect_request(Dialect::Messages, &service, &["messages", "count_tokens"], parts, bytes);
            return Ok(self.forward(&service, Dialect::Messages, &request, self.options.plain_timeout).await);
        }
        let (_, chat) = Conversion::of_request(Dialect::Messages, &bytes)?;
        let chat: Value = serde_json::from_slice(&chat).unwrap_or_default();
        let counted = ["messages", "tools"].map(|field| chat.get(field).map_or(0, tokens));
        Ok(Json(json!({ "input_tokens": counted.iter().sum::<usize>() })).into_response())
    }
}

fn tokens(value: &Value) -> usize {
    EstimatedTokens.count(&value.to_string())
}
