//! Routes of stored responses, which pass requests of their owner on unchanged.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, Request, State},
    response::Response,
};

use super::{
    body::ChatBody,
    dialect::Dialect,
    openai::{OpenAiAccess, error_response},
    relay::dialect_request,
    state::GatewayState,
};
use crate::fault::Fault;

/// The paths below `/v1/responses/` that are no id. Their body may name stored responses.
const WITHOUT_RESPONSE: [&str; 2] = ["compact", "input_tokens"];

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
    let checked = async {
        let body = gateway.read_body(body).await?;
        // A key must not read the responses of another one. Most paths name the response; these name it in the body.
        if WITHOUT_RESPONSE.contains(&rest) {
            let named = ChatBody::read(body.clone(), Dialect::Responses).map_err(Fault::bad_request)?;
            gateway.check_owner(&access, named.stored_ids()).await?;
        } else {
            gateway.check_owner(&access, path.get(1).copied()).await?;
        }
        Ok(body)
    };
    match checked.await {
        Ok(body) => {
            let request = dialect_request(Dialect::Responses, service, &path, parts, body);
            gateway.forward(service, Dialect::Responses, &request, gateway.options.plain_timeout).await
        }
        Err(fault) => error_response(fault),
    }
}
