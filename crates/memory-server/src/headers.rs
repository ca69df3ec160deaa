//! Texts in request headers.

use axum::http::HeaderMap;
use percent_encoding::percent_decode;

use crate::fault::Fault;

/// Returns the trimmed text of a header: UTF-8, percent-encoded or not. `None` if it is missing or blank.
///
/// # Errors
/// 400 for a header that is not UTF-8.
pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = percent_decode(value.as_bytes()).decode_utf8();
    let text = text.map_err(|_| Fault::bad_request(format!("the header {name} is not UTF-8; percent-encode it")))?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}
