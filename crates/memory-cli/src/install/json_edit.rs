//! Edits of JSON files with comments.

use anyhow::{Context, Result, anyhow, bail};
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
};
use serde_json::Value;

/// An entry of a JSON file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonEntry {
    /// A field. Its value is replaced.
    Field { path: Vec<&'static str>, value: Value },
    /// A field that the file needs. It is added if it is missing, and stays when the others are removed.
    Required { path: Vec<&'static str>, value: Value },
    /// An element of a list. An element that contains `marker` is replaced.
    Element { path: Vec<&'static str>, value: Value, marker: String },
}

/// Returns the text with these entries. Everything else stays as it is, with its comments.
pub(crate) fn install(old: &str, entries: &[JsonEntry]) -> Result<String> {
    let root = parse(old)?;
    let is_new = old.trim().is_empty();
    let object = root_object(&root)?;
    for entry in entries {
        match entry {
            JsonEntry::Field { path, value } => set_field(&object, path, value)?,
            JsonEntry::Required { path, value } => {
                if find(&object, path)?.is_none() {
                    set_field(&object, path, value)?;
                }
            }
            JsonEntry::Element { path, value, marker } => set_element(&object, path, value, marker)?,
        }
    }
    let mut new = root.to_string();
    if is_new && !new.ends_with('\n') {
        new.push('\n');
    }
    Ok(new)
}

/// Returns the text without these entries, and without objects and lists that are empty then. Empty if nothing is left.
pub(crate) fn uninstall(old: &str, entries: &[JsonEntry]) -> Result<String> {
    let root = parse(old)?;
    let object = root_object(&root)?;
    for entry in entries {
        match entry {
            JsonEntry::Field { path, .. } => {
                let node = find(&object, path)?;
                if let Some(node) = node.filter(|node| node.to_serde_value().is_some_and(|v| is_installed_server(&v))) {
                    remove_with_empty_parents(node);
                }
            }
            JsonEntry::Element { path, marker, .. } => {
                let list = find(&object, path)?.and_then(|node| node.as_array());
                if let Some(element) = list.as_ref().and_then(|list| marked_element(list, marker)) {
                    remove_with_empty_parents(own_part(element, marker));
                }
            }
            JsonEntry::Required { .. } => {}
        }
    }
    let required: Vec<&str> = entries.iter().filter_map(required_name).collect();
    let is_left = |name: String| !required.contains(&name.as_str());
    let has_rest = object.properties().iter().filter_map(|property| property.decoded_name()).any(is_left);
    Ok(if has_rest || has_comments(&root) { root.to_string() } else { String::new() })
}

fn required_name(entry: &JsonEntry) -> Option<&str> {
    match entry {
        JsonEntry::Required { path, .. } => path.first().copied(),
        JsonEntry::Field { .. } | JsonEntry::Element { .. } => None,
    }
}

fn has_comments(root: &CstRootNode) -> bool {
    let mut nodes = root.children();
    while let Some(node) = nodes.pop() {
        if node.is_comment() {
            return true;
        }
        nodes.extend(node.children());
    }
    false
}

/// Parses JSON with comments and trailing commas, as the agents do.
fn parse(text: &str) -> Result<CstRootNode> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| anyhow!("the file is not valid JSON; correct it first: {error}"))
}

fn root_object(root: &CstRootNode) -> Result<CstObject> {
    root.object_value_or_create().context("the file is not a JSON object")
}

/// Returns the value at a path.
fn find(object: &CstObject, path: &[&str]) -> Result<Option<CstNode>> {
    let Some((name, parents)) = path.split_last() else { bail!("an entry has no path") };
    let mut object = object.clone();
    for parent in parents {
        match object.object_value(parent) {
            Some(inner) => object = inner,
            None => return Ok(None),
        }
    }
    Ok(object.get(name).and_then(|property| property.value()))
}

/// Returns the object at a path; creates it if it is missing.
fn object_at(object: &CstObject, path: &[&str]) -> Result<CstObject> {
    let mut object = object.clone();
    for name in path {
        object = object.object_value_or_create(name).with_context(|| format!("\"{name}\" is not an object"))?;
    }
    Ok(object)
}

fn set_field(object: &CstObject, path: &[&str], value: &Value) -> Result<()> {
    let Some((name, parents)) = path.split_last() else { bail!("an entry has no path") };
    let object = object_at(object, parents)?;
    match object.get(name) {
        Some(property) if property.to_serde_value().as_ref() == Some(value) => {}
        Some(property) => {
            let existing = property.to_serde_value();
            if existing.is_some_and(|existing| !is_installed_server(&existing)) {
                bail!(
                    "\"{}\" exists already and is not from `memory install`; rename or remove it first",
                    path.join(".")
                );
            }
            property.set_value(input(value));
        }
        None => {
            object.append(name, input(value));
        }
    }
    Ok(())
}

fn set_element(object: &CstObject, path: &[&str], value: &Value, marker: &str) -> Result<()> {
    let Some((name, parents)) = path.split_last() else { bail!("an entry has no path") };
    let object = object_at(object, parents)?;
    let list = object.array_value_or_create(name).with_context(|| format!("\"{name}\" is not a list"))?;
    match marked_element(&list, marker) {
        Some(element) if element.to_serde_value().as_ref() == Some(value) => {}
        Some(element) if has_other_hooks(&element) => {
            own_part(element, marker).remove();
            list.append(input(value));
        }
        Some(element) => {
            let index = list.elements().iter().take_while(|other| other.to_string() != element.to_string()).count();
            element.remove();
            list.insert(index, input(value));
        }
        None => {
            list.append(input(value));
        }
    }
    Ok(())
}

fn marked_element(list: &CstArray, marker: &str) -> Option<CstNode> {
    list.elements().into_iter().find(|element| {
        let value = element.to_serde_value();
        value.is_some_and(|value| contains_text(&value, marker))
    })
}

/// Returns the element, or only the hook with the marker if its group contains other hooks, which are the user's.
fn own_part(element: CstNode, marker: &str) -> CstNode {
    if !has_other_hooks(&element) {
        return element;
    }
    hooks_of_group(&element).and_then(|hooks| marked_element(&hooks, marker)).unwrap_or(element)
}

fn has_other_hooks(element: &CstNode) -> bool {
    hooks_of_group(element).is_some_and(|hooks| hooks.elements().len() > 1)
}

fn hooks_of_group(element: &CstNode) -> Option<CstArray> {
    element.as_object().and_then(|group| group.array_value("hooks"))
}

/// Returns true if an earlier run wrote this MCP server: the server of another program may have the same name.
fn is_installed_server(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("/mcp?user_id="),
        Value::Array(items) => items.windows(2).any(|pair| pair == ["mcp", "--db"]),
        Value::Object(fields) => fields.values().any(is_installed_server),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn contains_text(value: &Value, marker: &str) -> bool {
    match value {
        Value::String(text) => text.contains(marker),
        Value::Array(values) => values.iter().any(|value| contains_text(value, marker)),
        Value::Object(fields) => fields.values().any(|value| contains_text(value, marker)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Removes a value, and the objects and lists around it that are empty then. The object of the file stays.
fn remove_with_empty_parents(node: CstNode) {
    let Some(parent) = node.parent() else { return };
    let container = if parent.is_object_prop() {
        let container = parent.parent();
        parent.remove();
        container
    } else {
        node.remove();
        Some(parent)
    };
    let Some(container) = container else { return };
    let is_empty = container.children_exclude_trivia_and_tokens().is_empty();
    let is_in_root = container.parent().is_none_or(|parent| parent.is_root());
    if is_empty && !is_in_root && (container.is_object() || container.is_array()) {
        remove_with_empty_parents(container.into());
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
