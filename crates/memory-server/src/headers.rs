//! Texts in request headers.

use axum::http::HeaderMap;
use percent_encoding::percent_decode;

#[cfg(any(feature = "hooks", feature = "tools"))]
use crate::access::{Access, Owner};
use crate::{fault::Fault, request::non_empty};

/// Returns the trimmed text of a header: UTF-8, percent-encoded or not. `None` if it is missing or blank.
///
/// # Errors
/// 400 for a header that is not UTF-8.
pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = percent_decode(value.as_bytes()).decode_utf8();
    let text = text.map_err(|_| Fault::bad_request(format!("the header {name} is not UTF-8; percent-encode it")))?;
    Ok(non_empty(&text).map(str::to_owned))
}

/// Returns the scope of the user whom a request names: in the header `X-User-Id`, or else in the URL. Without a name it
/// is the only user of the key, or else `default_user`.
///
/// # Errors
/// Those of [`Access::scope`]; 400 for a header that is not UTF-8.
#[cfg(any(feature = "hooks", feature = "tools"))]
pub(crate) fn user_scope(
    access: &Access,
    headers: &HeaderMap,
    in_url: &str,
    default_user: &str,
) -> Result<memory_engine::Scope, Fault> {
    let in_url = non_empty(in_url).map(str::to_owned);
    // For a key of several users, `Access` reports that the user is missing.
    let default_user = || access.is_for_all_users().then(|| default_user.to_owned());
    let user = header_text(headers, "x-user-id")?.or(in_url).or_else(default_user);
    Ok(access.scope(&Owner { user, ..Owner::default() })?)
}

/// The header that names the user, for the document of the routes.
#[cfg(any(feature = "hooks", feature = "tools"))]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "describes a header")]
pub(crate) struct UserHeader {
    /// The user, percent-encoded. It takes precedence over the URL.
    #[schemars(rename = "X-User-Id")]
    user: Option<String>,
}
