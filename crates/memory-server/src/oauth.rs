//! OAuth 2.1 for remote MCP: a small authorization server whose users sign in with a key of this server.
//!
//! Nothing is stored. Clients and tokens are signed texts, and the signature of a token depends on its key. Codes, used
//! refresh tokens and revocations are kept in memory.

mod api;
mod authorize;
mod client;
mod codes;
mod discovery;
mod error;
mod exchange;
mod grants;
mod issuer;
mod page;
mod parameters;
mod redirect;
mod secret;
mod state;
mod template;
mod token;

use std::sync::Arc;

use memory_engine::{Error, Result};

use self::{error::format_fault, issuer::Issuer, secret::SigningSecret, state::OAuthState};
use crate::{
    config::{Config, LimitsConfig, Variables},
    keys::KeyRing,
    limits::{BodyKind, Limits},
    part::ServerPart,
    server::Server,
};

/// The variable that holds the secret of all signatures.
const SECRET_VARIABLE: &str = "MEMORY_OAUTH_SECRET";
/// Maximum size of a request, in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;
/// Maximum number of concurrent requests. They need no key, so they must not occupy the places of callers with one.
const MAX_CONCURRENT_REQUESTS: usize = 128;

/// OAuth 2.1 for clients of `/mcp` that cannot send a key, such as connectors of chat applications. A person opens the
/// page of this server in a browser and enters a key there; the client gets tokens with the access of this key.
#[derive(Debug, Clone)]
#[must_use]
pub struct OAuth {
    issuer: Issuer,
    secret: SigningSecret,
}

impl OAuth {
    /// Creates an authorization server for a public address, such as `https://memory.example`. The secret signs
    /// clients and tokens; with another secret, all of them end.
    ///
    /// # Errors
    /// `InvalidInput` for an address with a path or without TLS (except on the loopback), and for a secret of less
    /// than 32 characters.
    pub fn new(issuer: &str, secret: &str) -> Result<Self> {
        Ok(Self { issuer: Issuer::parse(issuer)?, secret: SigningSecret::new(secret)? })
    }
}

impl Server {
    /// Adds an authorization server for `/mcp`, with the keys of this server.
    ///
    /// # Errors
    /// `InvalidInput` if the server has no keys for memories.
    pub fn oauth(self, oauth: OAuth) -> Result<Self> {
        let ring = self.guard().key_ring().map(KeyRing::for_memories).filter(|ring| !ring.is_empty());
        let Some(ring) = ring else {
            let message = "OAuth needs a key that a person can enter, and this server has none; add one to [[keys]], \
                           or set MEMORY_TOKEN to a key for the whole default tenant";
            return Err(Error::invalid("config", message));
        };
        let clock = Arc::clone(self.engine().settings().clock());
        let state = Arc::new(OAuthState::new(oauth.issuer, oauth.secret, ring, clock));
        let (router, section) = api::routes().finish();
        let section = section.with_max_body_bytes(MAX_BODY_BYTES);
        let limits = LimitsConfig {
            max_body_bytes: MAX_BODY_BYTES,
            max_concurrent: MAX_CONCURRENT_REQUESTS,
            ..LimitsConfig::default()
        };
        let router =
            Limits::new(&limits).apply(router.with_state(Arc::clone(&state)), format_fault, BodyKind::Memories);
        let part =
            ServerPart { name: "oauth", router, sections: vec![section], errors: format_fault, background: None };
        Ok(self.with_tokens(state).with_public_part(part))
    }
}

/// Adds the authorization server unless the configuration switches it off.
pub(crate) fn add(config: &Config, server: Server, variable: Variables<'_>) -> Result<Server> {
    if !config.oauth.enabled {
        return Ok(server);
    }
    if !config.mcp.enabled {
        return Err(Error::invalid("config", "oauth.enabled needs mcp.enabled: tokens are valid for /mcp only"));
    }
    let Some(issuer) = &config.oauth.issuer else {
        let message = "oauth.enabled needs oauth.issuer, the public address of this server, as https://memory.example";
        return Err(Error::invalid("config", message));
    };
    let Some(secret) = variable(SECRET_VARIABLE) else {
        let message = format!(
            "oauth.enabled needs the variable {SECRET_VARIABLE}, which signs tokens; set it to at least 32 random \
             characters, for example the output of: openssl rand -hex 32"
        );
        return Err(Error::invalid("config", message));
    };
    server.oauth(OAuth::new(issuer, &secret)?)
}

/// Returns the host of the public address, which clients of MCP send as `Host`.
pub(crate) fn public_host(config: &Config) -> Option<String> {
    let issuer = config.oauth.issuer.as_deref().filter(|_| config.oauth.enabled)?;
    Issuer::parse(issuer).ok().map(|issuer| issuer.host().to_owned())
}
