//! `/v1/models` and `/v1/embeddings`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header::AUTHORIZATION},
    response::{IntoResponse, Response},
};
use futures::future::join_all;
use memory_engine::http_models::RelayRequest;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    body::ChatBody,
    dialect::Dialect,
    identity::escaped,
    openai::{OpenAiAccess, error_response},
    relay::{json_response, upstream_fault, upstream_request},
    state::GatewayState,
    upstream::Service,
};
use crate::fault::Fault;

/// Time limit for an upstream to list or describe its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Lists the models of all upstreams. `X-Memory-Upstreams-Missing` names those that did not list theirs.
pub(super) async fn models(
    State(gateway): State<Arc<GatewayState>>,
    _: OpenAiAccess,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let services = gateway.upstreams.all();
    let mut headers_without_key = headers.clone();
    headers_without_key.remove(AUTHORIZATION);
    let request = upstream_request(Method::GET, &["models"], &uri, headers, Bytes::new());
    if let [service] = services {
        return gateway.forward(service, Dialect::Chat, &request, LIST_TIMEOUT).await;
    }
    // The client's key belongs to the catch-all upstream. It must not be sent to another one.
    let without_key = upstream_request(Method::GET, &["models"], &uri, headers_without_key, Bytes::new());
    let catch_all = services.iter().position(|service| service.is_catch_all());
    let lists = join_all(services.iter().enumerate().map(|(i, service)| {
        // An upstream with a key of its own replaces the client's key.
        let may_pass_key = service.relay.has_key() || Some(i) == catch_all;
        gateway.list_models(service, if may_pass_key { &request } else { &without_key })
    }))
    .await;
    let missing: Vec<&str> = services
        .iter()
        .zip(&lists)
        .filter(|(_, list)| list.is_none())
        .map(|(service, _)| service.name.as_str())
        .collect();
    if missing.len() == services.len() {
        let message = format!("no upstream lists its models: {}", missing.join(", "));
        return error_response(Fault::new(StatusCode::BAD_GATEWAY, message));
    }
    let missing = escaped(&missing.join(", ")).filter(|missing| !missing.is_empty());
    let data: Vec<Value> = lists.into_iter().flatten().flatten().collect();
    let mut response = Json(json!({ "object": "list", "data": data })).into_response();
    if let Some(missing) = missing {
        response.headers_mut().insert(HeaderName::from_static("x-memory-upstreams-missing"), missing);
    }
    response
}

/// Returns the description of a model by its upstream.
pub(super) async fn model(
    State(gateway): State<Arc<GatewayState>>,
    _: OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let name = path.get("model").map(String::as_str);
    match gateway.route(name) {
        Ok(route) => {
            let model = route.model.unwrap_or_default();
            let path: Vec<&str> = ["models"].into_iter().chain(model.split('/')).collect();
            let request = upstream_request(Method::GET, &path, &uri, headers, Bytes::new());
            gateway.forward(&route.service, Dialect::Chat, &request, LIST_TIMEOUT).await
        }
        Err(fault) => error_response(fault),
    }
}

/// Passes a request for embeddings to the upstream of its model.
pub(super) async fn embeddings(
    State(gateway): State<Arc<GatewayState>>,
    _: OpenAiAccess,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = async {
        let body = ChatBody::read(gateway.read_body(body).await?, Dialect::Chat).map_err(Fault::bad_request)?;
        let route = gateway.route(body.model())?;
        Ok::<_, Fault>((body.edited(route.model.as_deref(), "", gateway.options.placement), route.service))
    };
    match read.await {
        Ok((bytes, service)) => {
            let request = upstream_request(Method::POST, &["embeddings"], &parts.uri, parts.headers, bytes);
            gateway.forward(&service, Dialect::Chat, &request, gateway.options.plain_timeout).await
        }
        Err(fault) => error_response(fault),
    }
}

/// Refuses every other path under `/v1`.
pub(super) async fn unknown(method: Method, uri: Uri) -> Response {
    error_response(Fault::not_found(format!("no route {method} {}; /openapi.json lists all routes", uri.path())))
}

impl GatewayState {
    /// Sends a request to an upstream, and returns its response.
    pub(super) async fn forward(
        &self,
        service: &Service,
        dialect: Dialect,
        request: &RelayRequest,
        timeout: Duration,
    ) -> Response {
        let exchange = async {
            let mut reply = service.relay(dialect).send(request, timeout).await?;
            let body = reply.rest(self.options.max_reply_bytes).await?;
            Ok::<_, memory_engine::Error>(json_response(reply.status(), reply.headers(), body, &service.name, dialect))
        };
        exchange.await.unwrap_or_else(|e| dialect.error_response(upstream_fault(&e, &service.name)))
    }

    /// Lists the models of an upstream by the names that this gateway uses. `None` if the upstream fails.
    async fn list_models(&self, service: &Service, request: &RelayRequest) -> Option<Vec<Value>> {
        let read_list = async {
            let mut reply =
                service.relay.send(request, LIST_TIMEOUT).await.ok().filter(|reply| reply.status().is_success())?;
            let body = reply.rest(self.options.max_reply_bytes).await.ok()?;
            serde_json::from_slice::<Value>(&body).ok()
        };
        let mut list = timeout(LIST_TIMEOUT, read_list).await.ok()??;
        let Value::Array(mut models) = list.get_mut("data")?.take() else { return None };
        for model in &mut models {
            if let Some(id) = model.get("id").and_then(Value::as_str) {
                let id = self.upstreams.client_model_name(service, id);
                if let Some(model) = model.as_object_mut() {
                    model.insert("id".into(), json!(id));
                }
            }
        }
        Some(models)
    }
}
