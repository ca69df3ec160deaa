//! The description of the MCP route.
#![expect(dead_code, reason = "the types describe messages that the protocol's library reads")]

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::caller::CallerNames;
use crate::{
    fault::ErrorBody,
    openapi::{ApiOperation, Section},
};

pub(super) fn section() -> Section {
    let operation = ApiOperation::new("mcp", "Handles one JSON-RPC message of the Model Context Protocol.")
        .query::<CallerNames>()
        .headers::<McpHeaders>()
        .body::<JsonRpcMessage>()
        .answer::<JsonRpcMessage>()
        .status("202", "The notification was accepted.")
        .status("406", "Accept includes neither JSON nor a wildcard.")
        .status("415", "The content type is not application/json.")
        .errors::<McpError>(&["4XX", "5XX"]);
    let mut section =
        Section::new("mcp", "The Model Context Protocol over streamable HTTP. tools/list lists the tools.");
    section.add("post", "/mcp", operation);
    section
}

#[derive(JsonSchema)]
struct McpHeaders {
    /// The revision of the protocol, such as `2026-07-28` or `2025-11-25`.
    #[schemars(rename = "MCP-Protocol-Version")]
    version: Option<String>,
}

/// A JSON-RPC 2.0 request, notification or response.
#[derive(JsonSchema)]
struct JsonRpcMessage {
    /// Always `2.0`.
    jsonrpc: String,
    id: Option<Value>,
    method: Option<String>,
    params: Option<Map<String, Value>>,
    result: Option<Value>,
    error: Option<Map<String, Value>>,
}

/// An error of the protocol, or one of the server before it has read the message, such as 401, 403 and 413.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum McpError {
    Protocol(Box<JsonRpcMessage>),
    Server(ErrorBody),
}
