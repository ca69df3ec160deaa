//! Routes of stored responses, which pass requests of their owner on unchanged.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, Request, State},
    response::Response,
};

use super::{
    dialect::Dialect,
    openai::{OpenAiAccess, error_response},
    relay::dialect_request,
    response_owner::check_owner,
    state::GatewayState,
};
use crate::fault::Fault;

/// Passes a request about a stored response of this key on to the first upstream that speaks Responses.
pub(super) async fn stored_response(
    State(gateway): State<Arc<GatewayState>>,
    OpenAiAccess(access): OpenAiAccess,
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
    let owned = check_owner(&gateway.engine, &gateway.sessions, &access, path.get(1).unwrap_or(&"")).await;
    match (owned, gateway.read_body(body).await) {
        (Ok(()), Ok(body)) => {
            let request = dialect_request(Dialect::Responses, service, &path, parts, body);
            gateway.forward(service, Dialect::Responses, &request, gateway.options.plain_timeout).await
        }
        (Err(fault), _) | (_, Err(fault)) => error_response(fault),
    }
}
