//! The resources: documents about the memory that people attach to a conversation.

use memory_engine::{Error, ErrorKind, Record, Result};
use rmcp::model::{Resource, ResourceTemplate};

use super::{caller::Caller, markdown, tools::ToolContext};

pub(super) const MIME_TYPE: &str = "text/markdown";
const PROFILE: &str = "memory://profile";
const FACTS: &str = "memory://facts";
const RECENT: &str = "memory://recent";
const RECORD_PREFIX: &str = "memory://record/";

/// Returns all resources. Each shows the memory of the caller's user.
pub(super) fn all() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, title: &str, description: &str| {
        Resource::new(uri, name).with_title(title).with_description(description).with_mime_type(MIME_TYPE)
    };
    vec![
        resource(PROFILE, "profile", "Profile", "The profile of the user, as a short text."),
        resource(FACTS, "facts", "Facts and notes", "The facts and notes about the user that are valid now, with ids."),
        resource(RECENT, "recent", "Latest messages", "The latest messages of the user's conversations, oldest first."),
    ]
}

/// Returns the templates of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new(format!("{RECORD_PREFIX}{{id}}"), "record")
        .with_title("One memory")
        .with_description("The memory with this id, as search_memory and memory://facts show it.")
        .with_mime_type(MIME_TYPE);
    vec![template]
}

/// Returns the text of a resource.
///
/// # Errors
/// `NotFound` if there is no such resource for the caller, and the errors of the store.
pub(super) async fn read(memory: &ToolContext, caller: &Caller, uri: &str) -> Result<String> {
    let scope = caller.own_scope()?;
    if matches!(uri, PROFILE | FACTS | RECENT) {
        memory.engine.audit().log_export(&scope, uri).await?;
    }
    match uri {
        PROFILE => markdown::profile(&memory.engine, &scope).await,
        FACTS => markdown::facts(&memory.engine, &scope, &memory.zone(), memory.counter.as_ref()).await,
        RECENT => markdown::recent(&memory.engine, &scope, &memory.zone()).await,
        _ => {
            let id = uri.strip_prefix(RECORD_PREFIX).ok_or_else(unknown_resource)?;
            // The error does not reveal whether another user has a memory with this id.
            let id = id.parse().map_err(|_| missing_record())?;
            let record = memory.engine.get(&caller.user_scope("")?, id).await?;
            let record = record.filter(Record::is_indexed).ok_or_else(missing_record)?;
            Ok(markdown::record(&record, &memory.zone()))
        }
    }
}

fn unknown_resource() -> Error {
    let message = format!("unknown resource; the resources are {PROFILE}, {FACTS}, {RECENT} and {RECORD_PREFIX}{{id}}");
    Error::new(ErrorKind::NotFound, "mcp", message)
}

fn missing_record() -> Error {
    let message = "there is no memory with this id; ids are UUIDs, as memory://facts and search_memory show them";
    Error::new(ErrorKind::NotFound, "mcp", message)
}
