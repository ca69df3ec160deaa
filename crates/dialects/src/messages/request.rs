//! Messages request to Chat Completions request.

use serde_json::{Map, Value, json};

use crate::{
    error::DialectError,
    fields::{Fate, as_array, as_object, copy_fields, optional, pick, set_stream, text_field, user_content},
};

const FIELDS: &[(&str, Fate)] = &[
    ("model", Fate::Copied),
    ("max_tokens", Fate::Copied),
    ("temperature", Fate::Copied),
    ("top_p", Fate::Copied),
    ("messages", Fate::Converted),
    ("system", Fate::Converted),
    ("stop_sequences", Fate::Converted),
    ("stream", Fate::Converted),
    ("metadata", Fate::Converted),
    ("tools", Fate::Converted),
    ("tool_choice", Fate::Converted),
    ("thinking", Fate::Converted),
    ("output_config", Fate::Converted),
    ("cache_control", Fate::Dropped),
    ("service_tier", Fate::Dropped),
    ("diagnostics", Fate::Dropped),
    ("speed", Fate::Dropped),
    ("user_profile_id", Fate::Dropped),
    ("workspace_id", Fate::Dropped),
    ("inference_geo", Fate::Refused("remove it, the upstream decides where it runs")),
    ("top_k", Fate::Refused("use `top_p`")),
    ("container", Fate::Refused("remove it, and define a tool for code execution")),
    ("mcp_servers", Fate::Refused("define the tools of the MCP servers in `tools` and call them in the client")),
    ("context_management", Fate::Refused("shorten the conversation in the client")),
];

/// Converts the body of `POST /v1/messages` to the body of `POST /v1/chat/completions`.
///
/// # Errors
///
/// Names the first field that has no counterpart or the wrong type.
pub fn chat_request(request: &Value) -> Result<Value, DialectError> {
    let mut chat = copy_fields(as_object(request, "request")?, "", FIELDS)?;
    text_field(request, "model", "")?;
    let mut messages = Vec::new();
    if let Some(system) = optional(request, "system") {
        messages.push(json!({"role": "system", "content": plain_text(system, "system")?}));
    }
    for (index, message) in as_array(&request["messages"], "messages")?.iter().enumerate() {
        push_message(message, &format!("messages[{index}]"), &mut messages)?;
    }
    chat.insert("messages".to_owned(), Value::Array(messages));
    if let Some(stop) = optional(request, "stop_sequences") {
        chat.insert("stop".to_owned(), stop.clone());
    }
    if let Some(user) = request["metadata"]["user_id"].as_str() {
        chat.insert("user".to_owned(), json!(user));
    }
    if let Some(thinking) = optional(request, "thinking").filter(|thinking| thinking["type"] != "disabled") {
        as_object(thinking, "thinking")?;
        let advice = "remove it, or use `output_config.effort`";
        return Err(DialectError::unsupported("thinking", advice));
    }
    if let Some(config) = optional(request, "output_config") {
        set_output_config(config, &mut chat)?;
    }
    if let Some(tools) = optional(request, "tools") {
        chat.insert("tools".to_owned(), tools_of(as_array(tools, "tools")?)?);
    }
    if let Some(choice) = optional(request, "tool_choice") {
        set_tool_choice(choice, &mut chat)?;
    }
    set_stream(request, &mut chat)?;
    Ok(Value::Object(chat))
}

fn set_output_config(config: &Value, chat: &mut Map<String, Value>) -> Result<(), DialectError> {
    let fields = [("effort", Fate::Converted), ("format", Fate::Converted)];
    copy_fields(as_object(config, "output_config")?, "output_config", &fields)?;
    if let Some(effort) = optional(config, "effort") {
        chat.insert("reasoning_effort".to_owned(), effort.clone());
    }
    if let Some(format) = optional(config, "format") {
        if format["type"] != "json_schema" || !format["schema"].is_object() {
            return Err(DialectError::invalid(
                "output_config.format",
                "an object with type `json_schema` and a schema",
            ));
        }
        let schema = json!({"name": "output", "schema": format["schema"], "strict": true});
        chat.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    }
    Ok(())
}

fn tools_of(tools: &[Value]) -> Result<Value, DialectError> {
    let convert = |(index, tool): (usize, &Value)| {
        let path = format!("tools[{index}]");
        if optional(tool, "type").is_some_and(|kind| kind != "custom") {
            let advice =
                "a tool of the provider runs only there, define a tool of type `custom` and run it in the client";
            return Err(DialectError::unsupported(format!("{path}.type"), advice));
        }
        text_field(tool, "name", &path)?;
        as_object(&tool["input_schema"], &format!("{path}.input_schema"))?;
        let mut function = pick(tool, &["name", "description", "strict"]);
        function.insert("parameters".to_owned(), tool["input_schema"].clone());
        Ok(json!({"type": "function", "function": function}))
    };
    Ok(Value::Array(tools.iter().enumerate().map(convert).collect::<Result<_, _>>()?))
}

fn set_tool_choice(choice: &Value, chat: &mut Map<String, Value>) -> Result<(), DialectError> {
    let converted = match choice["type"].as_str() {
        Some("auto") => json!("auto"),
        Some("any") => json!("required"),
        Some("none") => json!("none"),
        Some("tool") => {
            let name = text_field(choice, "name", "tool_choice")?;
            json!({"type": "function", "function": {"name": name}})
        }
        _ => return Err(DialectError::invalid("tool_choice.type", "`auto`, `any`, `tool` or `none`")),
    };
    chat.insert("tool_choice".to_owned(), converted);
    if choice["disable_parallel_tool_use"] == true {
        chat.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    Ok(())
}

/// A string, or the texts of text blocks with an empty line between them.
fn plain_text(content: &Value, path: &str) -> Result<String, DialectError> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let blocks = content.as_array().ok_or_else(|| DialectError::invalid(path, "a string or a list of text blocks"))?;
    let mut texts = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if block["type"] != "text" {
            return Err(DialectError::unsupported(path, "send a block of type `text`"));
        }
        texts.push(text_field(block, "text", &path)?);
    }
    Ok(texts.join("\n\n"))
}

fn push_message(message: &Value, path: &str, messages: &mut Vec<Value>) -> Result<(), DialectError> {
    let content_path = format!("{path}.content");
    let content = &message["content"];
    match message["role"].as_str() {
        Some("system") => messages.push(json!({"role": "system", "content": plain_text(content, &content_path)?})),
        Some(role @ ("user" | "assistant")) if content.is_string() => {
            messages.push(json!({"role": role, "content": content}));
        }
        Some("user") => push_user(as_array(content, &content_path)?, &content_path, messages)?,
        Some("assistant") => messages.push(assistant(as_array(content, &content_path)?, &content_path)?),
        _ => return Err(DialectError::invalid(format!("{path}.role"), "`user`, `assistant` or `system`")),
    }
    Ok(())
}

fn push_user(blocks: &[Value], path: &str, messages: &mut Vec<Value>) -> Result<(), DialectError> {
    let mut parts = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match block["type"].as_str() {
            Some("text") => parts.push(json!({"type": "text", "text": text_field(block, "text", &path)?})),
            Some("image") => parts.push(image(&block["source"], &format!("{path}.source"))?),
            Some("tool_result") => {
                let call_id = text_field(block, "tool_use_id", &path)?;
                let content = optional(block, "content");
                let mut text =
                    content.map_or(Ok(String::new()), |content| plain_text(content, &format!("{path}.content")))?;
                if block["is_error"] == true {
                    text.insert_str(0, "Error: ");
                }
                messages.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
            }
            Some("document" | "search_result" | "container_upload") => {
                return Err(DialectError::unsupported(
                    path,
                    "send the content of the document as a block of type `text`",
                ));
            }
            _ => return Err(DialectError::unsupported(path, "send blocks of type `text`, `image` or `tool_result`")),
        }
    }
    if !parts.is_empty() {
        messages.push(json!({"role": "user", "content": user_content(parts)}));
    }
    Ok(())
}

fn image(source: &Value, path: &str) -> Result<Value, DialectError> {
    let url = match source["type"].as_str() {
        Some("base64") => {
            format!("data:{};base64,{}", text_field(source, "media_type", path)?, text_field(source, "data", path)?)
        }
        Some("url") => text_field(source, "url", path)?.to_owned(),
        _ => return Err(DialectError::unsupported(path, "send the image as `base64` or `url`")),
    };
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn assistant(blocks: &[Value], path: &str) -> Result<Value, DialectError> {
    let mut text = String::new();
    let mut calls = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match block["type"].as_str() {
            Some("text") => text.push_str(text_field(block, "text", &path)?),
            Some("tool_use") => {
                let input = &block["input"];
                as_object(input, &format!("{path}.input"))?;
                calls.push(json!({
                    "id": text_field(block, "id", &path)?,
                    "type": "function",
                    "function": {"name": text_field(block, "name", &path)?, "arguments": input.to_string()},
                }));
            }
            // The upstream cannot check the signature of another provider.
            Some("thinking" | "redacted_thinking") => {}
            _ => return Err(DialectError::unsupported(path, "send blocks of type `text` or `tool_use`")),
        }
    }
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    Ok(message)
}
