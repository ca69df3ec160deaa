//! The routes of the authorization server.
#![expect(dead_code, reason = "the types describe forms that the handlers read as parameters")]

use std::sync::Arc;

use axum::routing;
use schemars::JsonSchema;

use super::{
    authorize,
    client::RegistrationRequest,
    discovery::{self, RegisteredClient, ResourceMetadata, ServerMetadata},
    error::OAuthErrorBody,
    exchange::{self, TokenAnswer},
    state::{OAuthState, RESOURCE_METADATA_PATH},
};
use crate::openapi::{ApiOperation, Routes};

const HTML: &str = "text/html";

pub(super) fn routes() -> Routes<Arc<OAuthState>> {
    let describe_resource = |id, summary| ApiOperation::new(id, summary).without_key().answer::<ResourceMetadata>();
    Routes::new("oauth", "OAuth 2.1 for clients of MCP that cannot send a key.")
        .get(
            RESOURCE_METADATA_PATH,
            discovery::describe_resource,
            describe_resource("oauth_resource", "Names the authorization server of /mcp (RFC 9728)."),
        )
        .get(
            "/.well-known/oauth-protected-resource",
            discovery::describe_resource,
            describe_resource("oauth_resource_root", "The same, for clients that do not ask for a path."),
        )
        .get(
            "/.well-known/oauth-authorization-server",
            discovery::describe_server,
            ApiOperation::new("oauth_server", "Describes the authorization server (RFC 8414).")
                .without_key()
                .answer::<ServerMetadata>(),
        )
        .post("/oauth/register", discovery::register, register_operation())
        .route("get", "/oauth/authorize", routing::get(authorize::show).post(authorize::submit), authorize_operation())
        .described("post", "/oauth/authorize", submit_operation())
        .post("/oauth/token", exchange::exchange, token_operation())
        .post("/oauth/revoke", exchange::revoke, revoke_operation())
}

fn register_operation() -> ApiOperation {
    ApiOperation::new("oauth_register", "Registers a client without storing it (RFC 7591).")
        .without_key()
        .body::<RegistrationRequest>()
        .response::<RegisteredClient>("201", "The client.", "application/json")
        .errors::<OAuthErrorBody>(&["4XX"])
}

fn authorize_operation() -> ApiOperation {
    ApiOperation::new("oauth_authorize", "Shows a page that asks for a key of this server, in Chinese or English.")
        .without_key()
        .query::<AuthorizationQuery>()
        .response::<String>("200", "The page.", HTML)
        .response::<String>("400", "A page that names the problem. It is not redirected.", HTML)
}

fn submit_operation() -> ApiOperation {
    ApiOperation::new("oauth_authorize_submit", "Checks the key, and returns to the client with a code.")
        .without_key()
        .form::<AuthorizationForm>()
        .status("303", "The key is valid; the location contains code, state and iss.")
        .response::<String>("400", "The form has expired or was changed.", HTML)
        .response::<String>("403", "The key is not valid; the page asks again.", HTML)
        .response::<String>("429", "Too many keys are being checked; the page asks again.", HTML)
}

fn token_operation() -> ApiOperation {
    ApiOperation::new("oauth_token", "Exchanges a code or a refresh token for a pair of tokens.")
        .without_key()
        .form::<TokenForm>()
        .answer::<TokenAnswer>()
        .errors::<OAuthErrorBody>(&["4XX"])
}

fn revoke_operation() -> ApiOperation {
    ApiOperation::new("oauth_revoke", "Ends all tokens of an authorization (RFC 7009).")
        .without_key()
        .form::<RevocationForm>()
        .status("200", "The token is not valid any more.")
        .errors::<OAuthErrorBody>(&["4XX"])
}

#[derive(JsonSchema)]
struct AuthorizationQuery {
    /// Always `code`.
    response_type: String,
    /// The id from the registration.
    client_id: String,
    /// One of the registered addresses; of an `http` address of the loopback the port may differ.
    redirect_uri: String,
    /// The PKCE challenge: 43 characters.
    code_challenge: String,
    /// Always `S256`.
    code_challenge_method: String,
    /// Is returned unchanged.
    state: Option<String>,
    /// The address of MCP. Default: that address.
    resource: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename = "OAuthAuthorizationForm")]
struct AuthorizationForm {
    /// The signed request of the page.
    request: String,
    /// A key of this server.
    key: String,
}

#[derive(JsonSchema)]
#[schemars(rename = "OAuthTokenForm")]
struct TokenForm {
    /// `authorization_code` or `refresh_token`.
    grant_type: String,
    client_id: String,
    /// With `authorization_code`.
    code: Option<String>,
    /// With `authorization_code`: the text whose hash is the challenge.
    code_verifier: Option<String>,
    /// With `authorization_code`: if present, that of the authorization request.
    redirect_uri: Option<String>,
    /// With `refresh_token`.
    refresh_token: Option<String>,
    /// The address of MCP. Default: that address.
    resource: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename = "OAuthRevocationForm")]
struct RevocationForm {
    /// An access token or a refresh token.
    token: String,
    client_id: Option<String>,
}
