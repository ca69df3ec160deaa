//! Routes of stored responses, which pass requests on unchanged.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, Request, State},
    response::Response,
};

use super::{
    dialect::Dialect,
    openai::{OpenAiAccess, error_response},
    relay::dialect_request,
    state::GatewayState,
};
use crate::fault::Fault;

/// Passes a request about a stored response on to the first upstream that speaks Responses.
pub(super) async fn stored_response(
    State(gateway): State<Arc<GatewayState>>,
    _: OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let Some(service) = gateway.upstreams.all().iter().find(|service| service.speaks(Dialect::Responses)) else {
        let message = "no upstream stores responses; send the whole input with each request";
        return error_response(Fault::not_found(message));
    };
    let rest = path.get("rest").map(String::as_str).unwrap_or_default();
    let path: Vec<&str> = ["responses"].into_iter().chain(rest.split('/')).collect();
    match gateway.read_body(body).await {
        Ok(body) => {
            let request = dialect_request(Dialect::Responses, service, &path, parts, body);
            gateway.forward(service, Dialect::Responses, &request, gateway.options.plain_timeout).await
        }
        Err(fault) => error_response(fault),
    }
}
