//! The descriptions of the server for clients, and the registration of clients.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    client::{Client, RegistrationRequest},
    error::OAuthError,
    state::OAuthState,
};

const NO_SECRET: &str = "none";
const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];

/// The description of the protected resource (RFC 9728).
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ResourceMetadata {
    /// The address of MCP.
    resource: String,
    resource_name: &'static str,
    authorization_servers: [String; 1],
    bearer_methods_supported: [&'static str; 1],
}

/// The description of the authorization server (RFC 8414).
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ServerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: String,
    revocation_endpoint: String,
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 2],
    /// Clients have no secret: they are public clients.
    token_endpoint_auth_methods_supported: [&'static str; 1],
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    code_challenge_methods_supported: [&'static str; 1],
    authorization_response_iss_parameter_supported: bool,
    /// False: the server makes no requests to addresses that a client names.
    client_id_metadata_document_supported: bool,
}

/// A registered client (RFC 7591).
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RegisteredClient {
    client_id: String,
    /// Seconds since the Unix epoch.
    client_id_issued_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
}

pub(super) async fn describe_resource(State(oauth): State<Arc<OAuthState>>) -> Json<ResourceMetadata> {
    Json(ResourceMetadata {
        resource: oauth.issuer.resource(),
        resource_name: "memory-engine",
        authorization_servers: [oauth.issuer.as_str().to_owned()],
        bearer_methods_supported: ["header"],
    })
}

pub(super) async fn describe_server(State(oauth): State<Arc<OAuthState>>) -> Json<ServerMetadata> {
    let issuer = &oauth.issuer;
    Json(ServerMetadata {
        issuer: issuer.as_str().to_owned(),
        authorization_endpoint: issuer.url("/oauth/authorize"),
        token_endpoint: issuer.url("/oauth/token"),
        registration_endpoint: issuer.url("/oauth/register"),
        revocation_endpoint: issuer.url("/oauth/revoke"),
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: GRANT_TYPES,
        token_endpoint_auth_methods_supported: [NO_SECRET],
        revocation_endpoint_auth_methods_supported: [NO_SECRET],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: false,
    })
}

/// Registers a client. Nothing is stored.
pub(super) async fn register(State(oauth): State<Arc<OAuthState>>, body: Bytes) -> Result<Response, OAuthError> {
    let request: RegistrationRequest = serde_json::from_slice(&body)
        .map_err(|e| OAuthError::new("invalid_client_metadata", format!("the body is not a description: {e}")))?;
    let client = Client::register(request, oauth.now())?;
    let registered = RegisteredClient {
        client_id: client.id(&oauth.secret),
        client_id_issued_at: client.registered,
        redirect_uris: client.redirect_uris().to_vec(),
        client_name: client.name,
        grant_types: GRANT_TYPES,
        response_types: ["code"],
        token_endpoint_auth_method: NO_SECRET,
    };
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], Json(registered)).into_response())
}
