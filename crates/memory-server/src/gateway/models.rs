//! `/v1/models` and `/v1/embeddings`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, Method, Uri, header::AUTHORIZATION},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::future::join_all;
use memory_engine::http_models::RelayRequest;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    Inner,
    body::ChatBody,
    chat::{admitted, relayed},
    course::{answer, failed},
    upstream::Service,
    who::escaped,
};
use crate::{Access, fault::Fault};

/// How long a service may take to list its models.
const PATIENCE: Duration = Duration::from_secs(10);

/// The models of all services. One that does not list its own is left out, and named in `X-Memory-Upstreams-Missing`.
pub(super) async fn models(
    State(gateway): State<Arc<Inner>>,
    access: Option<Extension<Access>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if let Err(fault) = admitted(access) {
        return fault.into_openai();
    }
    let services = gateway.upstreams.all();
    let mut keyless = headers.clone();
    keyless.remove(AUTHORIZATION);
    let request = relayed(Method::GET, &["models"], &uri, headers, Bytes::new());
    if let [service] = services {
        return gateway.passed(service, &request, PATIENCE).await;
    }
    // The client's key is for the service that takes what no other one names, and for no other.
    let nobodys = relayed(Method::GET, &["models"], &uri, keyless, Bytes::new());
    let open = services.iter().position(|service| service.is_open());
    let asked = services.iter().enumerate().map(|(i, service)| {
        let may_have_it = service.relay.has_key() || Some(i) == open;
        gateway.listed(service, if may_have_it { &request } else { &nobodys })
    });
    let listed = join_all(asked).await;
    let missing: Vec<&str> = services
        .iter()
        .zip(&listed)
        .filter(|(_, list)| list.is_none())
        .map(|(service, _)| service.name.as_str())
        .collect();
    if missing.len() == services.len() {
        let all = missing.join(", ");
        return Fault::new(axum::http::StatusCode::BAD_GATEWAY, format!("no upstream lists its models: {all}"))
            .into_openai();
    }
    let missing = escaped(&missing.join(", ")).filter(|missing| !missing.is_empty());
    let data: Vec<Value> = listed.into_iter().flatten().flatten().collect();
    let mut response = Json(json!({ "object": "list", "data": data })).into_response();
    if let Some(missing) = missing {
        response.headers_mut().insert(HeaderName::from_static("x-memory-upstreams-missing"), missing);
    }
    response
}

/// One model, as its service describes it.
pub(super) async fn model(
    State(gateway): State<Arc<Inner>>,
    access: Option<Extension<Access>>,
    Path(path): Path<BTreeMap<String, String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let name = path.get("model").map(String::as_str);
    let routed = admitted(access).and_then(|_| gateway.route(name));
    match routed {
        Ok(route) => {
            let model = route.model.unwrap_or_default();
            let path: Vec<&str> = ["models"].into_iter().chain(model.split('/')).collect();
            let request = relayed(Method::GET, &path, &uri, headers, Bytes::new());
            gateway.passed(&route.service, &request, PATIENCE).await
        }
        Err(fault) => fault.into_openai(),
    }
}

/// Vectors, as the model's service makes them.
pub(super) async fn embeddings(
    State(gateway): State<Arc<Inner>>,
    access: Option<Extension<Access>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = async {
        let _: Access = admitted(access)?;
        let body = ChatBody::read(gateway.bytes(body).await?).map_err(Fault::bad_request)?;
        let route = gateway.route(body.model())?;
        Ok::<_, Fault>((body.written(route.model.as_deref(), ""), route.service))
    };
    match read.await {
        Ok((bytes, service)) => {
            let request = relayed(Method::POST, &["embeddings"], &parts.uri, parts.headers, bytes);
            gateway.passed(&service, &request, gateway.options.plain_patience).await
        }
        Err(fault) => fault.into_openai(),
    }
}

/// Everything else under `/v1`.
pub(super) async fn unknown(method: Method, uri: Uri) -> Response {
    Fault::not_found(format!("there is no {method} {} here", uri.path())).into_openai()
}

impl Inner {
    /// What a service says, as it is.
    async fn passed(&self, service: &Service, request: &RelayRequest, patience: Duration) -> Response {
        let asked = async {
            let mut reply = service.relay.send(request, patience).await?;
            let body = reply.rest(self.options.max_reply_bytes).await?;
            Ok::<_, memory_engine::Error>(answer(reply.status(), reply.headers(), Body::from(body)))
        };
        asked.await.unwrap_or_else(|e| failed(&e, &service.name).into_openai())
    }

    /// The models of a service, by the names that they have here; `None` when it does not tell.
    async fn listed(&self, service: &Service, request: &RelayRequest) -> Option<Vec<Value>> {
        let asked = async {
            let mut reply =
                service.relay.send(request, PATIENCE).await.ok().filter(|reply| reply.status().is_success())?;
            let body = reply.rest(self.options.max_reply_bytes).await.ok()?;
            serde_json::from_slice::<Value>(&body).ok()
        };
        let mut list = timeout(PATIENCE, asked).await.ok()??;
        let Value::Array(mut models) = list.get_mut("data")?.take() else { return None };
        for model in &mut models {
            if let Some(id) = model.get("id").and_then(Value::as_str) {
                let id = self.upstreams.name_of(service, id);
                if let Some(model) = model.as_object_mut() {
                    model.insert("id".into(), json!(id));
                }
            }
        }
        Some(models)
    }
}
