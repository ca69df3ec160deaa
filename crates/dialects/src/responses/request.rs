//! Responses request to Chat Completions request.

use serde_json::{Map, Value, json};

use crate::{
    error::DialectError,
    fields::{Fate, as_array, as_object, copy_fields, optional, pick, set_stream, text_field, user_content},
};

const FIELDS: &[(&str, Fate)] = &[
    ("model", Fate::Copied),
    ("temperature", Fate::Copied),
    ("top_p", Fate::Copied),
    ("metadata", Fate::Copied),
    ("user", Fate::Copied),
    ("parallel_tool_calls", Fate::Copied),
    ("input", Fate::Converted),
    ("instructions", Fate::Converted),
    ("max_output_tokens", Fate::Converted),
    ("stream", Fate::Converted),
    ("tools", Fate::Converted),
    ("tool_choice", Fate::Converted),
    ("text", Fate::Converted),
    ("reasoning", Fate::Converted),
    ("background", Fate::Converted),
    ("truncation", Fate::Converted),
    ("include", Fate::Converted),
    ("access_programs", Fate::Dropped),
    ("image", Fate::Dropped),
    ("max_tool_calls", Fate::Dropped),
    ("prompt_cache_key", Fate::Dropped),
    ("prompt_cache_options", Fate::Dropped),
    ("prompt_cache_retention", Fate::Dropped),
    ("safety_identifier", Fate::Dropped),
    ("service_tier", Fate::Dropped),
    ("store", Fate::Dropped),
    ("stream_options", Fate::Dropped),
    ("background_options", Fate::Refused("send the request without `background` and wait for the reply")),
    ("context_management", Fate::Refused("shorten the conversation in the client")),
    ("conversation", Fate::Refused("send the whole conversation in `input`")),
    ("previous_response_id", Fate::Refused("send the whole conversation in `input`")),
    ("moderation", Fate::Refused("remove it, and check the text in the client")),
    ("prompt", Fate::Refused("send the text of the prompt in `instructions` and `input`")),
    ("top_logprobs", Fate::Refused("remove it, log probabilities are not converted")),
];

/// Converts the body of `POST /v1/responses` to the body of `POST /v1/chat/completions`.
///
/// # Errors
///
/// Names the first field that has no counterpart or the wrong type.
pub fn chat_request(request: &Value) -> Result<Value, DialectError> {
    let mut chat = copy_fields(as_object(request, "request")?, "", FIELDS)?;
    text_field(request, "model", "")?;
    refuse_values(request)?;
    let mut messages = Vec::new();
    if optional(request, "instructions").is_some() {
        let instructions = text_field(request, "instructions", "")?;
        messages.push(json!({"role": "system", "content": instructions}));
    }
    match &request["input"] {
        Value::String(text) => messages.push(json!({"role": "user", "content": text})),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_item(item, &format!("input[{index}]"), &mut messages)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(DialectError::invalid("input", "a string or a list of items"));
        }
    }
    chat.insert("messages".to_owned(), Value::Array(messages));
    if let Some(tokens) = optional(request, "max_output_tokens") {
        chat.insert("max_tokens".to_owned(), tokens.clone());
    }
    if let Some(tools) = optional(request, "tools").filter(|tools| **tools != json!([])) {
        chat.insert("tools".to_owned(), tools_of(as_array(tools, "tools")?)?);
    }
    if let Some(choice) = optional(request, "tool_choice") {
        chat.insert("tool_choice".to_owned(), tool_choice(choice)?);
    }
    if let Some(effort) = optional(&request["reasoning"], "effort") {
        chat.insert("reasoning_effort".to_owned(), effort.clone());
    }
    if let Some(verbosity) = optional(&request["text"], "verbosity") {
        chat.insert("verbosity".to_owned(), verbosity.clone());
    }
    if let Some(format) = optional(&request["text"], "format") {
        set_format(format, &mut chat)?;
    }
    set_stream(request, &mut chat)?;
    Ok(Value::Object(chat))
}

/// Refuses the values without a counterpart of fields that have harmless values too.
fn refuse_values(request: &Value) -> Result<(), DialectError> {
    if request["background"] == true {
        return Err(DialectError::unsupported("background", "set it to false and wait for the reply"));
    }
    if request["truncation"] == "auto" {
        return Err(DialectError::unsupported(
            "truncation",
            "set it to `disabled` and shorten the input in the client",
        ));
    }
    let is_refused = |value: &&Value| **value != "reasoning.encrypted_content";
    if let Some(value) = request["include"].as_array().into_iter().flatten().find(is_refused) {
        return Err(DialectError::unsupported("include", format!("remove {value}, it is not in the reply")));
    }
    Ok(())
}

fn set_format(format: &Value, chat: &mut Map<String, Value>) -> Result<(), DialectError> {
    let converted = match format["type"].as_str() {
        Some("text") => return Ok(()),
        Some("json_object") => json!({"type": "json_object"}),
        Some("json_schema") => {
            text_field(format, "name", "text.format")?;
            as_object(&format["schema"], "text.format.schema")?;
            let schema = pick(format, &["name", "description", "schema", "strict"]);
            json!({"type": "json_schema", "json_schema": schema})
        }
        _ => return Err(DialectError::invalid("text.format.type", "`text`, `json_object` or `json_schema`")),
    };
    chat.insert("response_format".to_owned(), converted);
    Ok(())
}

fn tools_of(tools: &[Value]) -> Result<Value, DialectError> {
    let convert = |(index, tool): (usize, &Value)| {
        let path = format!("tools[{index}]");
        if tool["type"] != "function" {
            let advice = "define a tool of type `function` and run it in the client";
            return Err(DialectError::unsupported(format!("{path}.type"), advice));
        }
        text_field(tool, "name", &path)?;
        Ok(json!({"type": "function", "function": pick(tool, &["name", "description", "parameters", "strict"])}))
    };
    Ok(Value::Array(tools.iter().enumerate().map(convert).collect::<Result<_, _>>()?))
}

fn tool_choice(choice: &Value) -> Result<Value, DialectError> {
    if matches!(choice.as_str(), Some("auto" | "none" | "required")) {
        return Ok(choice.clone());
    }
    if choice["type"] == "function" {
        let name = text_field(choice, "name", "tool_choice")?;
        return Ok(json!({"type": "function", "function": {"name": name}}));
    }
    let advice = "use `auto`, `none`, `required` or the name of a function";
    Err(DialectError::unsupported("tool_choice", advice))
}

fn push_item(item: &Value, path: &str, messages: &mut Vec<Value>) -> Result<(), DialectError> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => push_message(item, path, messages)?,
        "function_call" => {
            let call = json!({
                "id": text_field(item, "call_id", path)?,
                "type": "function",
                "function": {
                    "name": text_field(item, "name", path)?,
                    "arguments": text_field(item, "arguments", path)?,
                },
            });
            push_call(call, messages);
        }
        "function_call_output" => {
            let call_id = text_field(item, "call_id", path)?;
            let text = plain_text(&item["output"], &format!("{path}.output"))?;
            messages.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
        }
        // Only the provider that made the item can read it.
        "reasoning" => {}
        "item_reference" => return Err(DialectError::unsupported(path, "send the item itself")),
        _ => {
            let advice = "send items of type `message`, `function_call` or `function_call_output`";
            return Err(DialectError::unsupported(path, advice));
        }
    }
    Ok(())
}

/// Appends a tool call to the assistant message at the end, or to a new one.
fn push_call(call: Value, messages: &mut Vec<Value>) {
    if let Some(last) = messages.last_mut().filter(|message| message["role"] == "assistant") {
        if let Some(calls) = last["tool_calls"].as_array_mut() {
            calls.push(call);
        } else {
            last["tool_calls"] = json!([call]);
        }
        return;
    }
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
}

fn push_message(item: &Value, path: &str, messages: &mut Vec<Value>) -> Result<(), DialectError> {
    let content = &item["content"];
    let content_path = format!("{path}.content");
    match item["role"].as_str() {
        Some("user") if content.is_string() => messages.push(json!({"role": "user", "content": content})),
        Some("user") => {
            let parts = as_array(content, &content_path)?.iter().enumerate();
            let parts = parts.map(|(index, part)| user_part(part, &format!("{content_path}[{index}]")));
            messages.push(json!({"role": "user", "content": user_content(parts.collect::<Result<_, _>>()?)}));
        }
        Some(role @ ("assistant" | "system" | "developer")) => {
            // Few upstreams accept the role `developer`.
            let role = if role == "developer" { "system" } else { role };
            messages.push(json!({"role": role, "content": plain_text(content, &content_path)?}));
        }
        _ => {
            let expected = "`user`, `assistant`, `system` or `developer`";
            return Err(DialectError::invalid(format!("{path}.role"), expected));
        }
    }
    Ok(())
}

fn user_part(part: &Value, path: &str) -> Result<Value, DialectError> {
    match part["type"].as_str() {
        Some("input_text") => Ok(json!({"type": "text", "text": text_field(part, "text", path)?})),
        Some("input_image") => {
            let Some(url) = part["image_url"].as_str() else {
                return Err(DialectError::unsupported(path, "send the image as a URL or data URL in `image_url`"));
            };
            let mut image = pick(part, &["detail"]);
            image.insert("url".to_owned(), json!(url));
            Ok(json!({"type": "image_url", "image_url": image}))
        }
        Some("input_file") => Err(DialectError::unsupported(path, "send the content of the file as `input_text`")),
        _ => Err(DialectError::unsupported(path, "send parts of type `input_text` or `input_image`")),
    }
}

/// A string, or the texts of a list of text parts.
fn plain_text(content: &Value, path: &str) -> Result<String, DialectError> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let parts = content.as_array().ok_or_else(|| DialectError::invalid(path, "a string or a list of text parts"))?;
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match part["type"].as_str() {
            Some("input_text" | "output_text") => text.push_str(text_field(part, "text", &path)?),
            Some("refusal") => text.push_str(text_field(part, "refusal", &path)?),
            _ => return Err(DialectError::unsupported(path, "send parts of type `input_text` or `output_text`")),
        }
    }
    Ok(text)
}
