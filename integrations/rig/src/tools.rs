//! Tools with which a model searches and writes memories itself. Their names are those of the engine's MCP tools.

use memory_engine::{
    Error, ErrorKind, MemoryEngine, RecallHit, RecallQuery, Role, Scope, Turn,
    review::{ReviewMode, ReviewSource},
};
use rig_core::tool::{PortableTool, ToolErrorKind, ToolExecutionError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of memories that a model can ask for.
const MAX_LIMIT: usize = 100;
/// Number of memories if the model names none.
const DEFAULT_LIMIT: usize = 10;

/// The tool `search_memory`: searches the memories within a scope.
#[derive(Debug, Clone)]
#[must_use]
pub struct SearchMemory {
    engine: MemoryEngine,
    scope: Scope,
}

/// The arguments of [`SearchMemory`].
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct SearchMemoryArgs {
    /// The query.
    pub query: String,
    /// Maximum number of memories, 1 to 100. Default: 10.
    #[serde(default = "default_limit")]
    pub limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// A result of [`SearchMemory`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FoundMemory {
    /// The id.
    pub id: String,
    /// The text.
    pub text: String,
    /// The time at which it happened, in RFC 3339.
    pub occurred_at: String,
    /// The role of the speaker, if it is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// True if it is relevant to the query, and not only the best there is.
    pub relevant: bool,
}

impl SearchMemory {
    /// Creates the tool for the memories within `scope`.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope }
    }
}

impl From<&RecallHit> for FoundMemory {
    fn from(hit: &RecallHit) -> Self {
        Self {
            id: hit.id().to_string(),
            text: hit.text().to_owned(),
            occurred_at: hit.record.occurred_at.to_string(),
            role: hit.record.role.as_ref().map(Role::as_str).map(str::to_owned),
            relevant: hit.relevant,
        }
    }
}

impl PortableTool for SearchMemory {
    const NAME: &'static str = "search_memory";
    type Args = SearchMemoryArgs;
    type Output = Vec<FoundMemory>;
    type Error = Error;

    fn description(&self) -> String {
        "Searches earlier messages, notes and facts about the user, in any language. Use it whenever the user refers \
         to something from before, or when knowing them better would make a better answer. Memories that are not \
         `relevant` are only the nearest ones. If none is relevant, say so, and make nothing up."
            .into()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "A question or a few words in the user's own language, such as: where does my \
                                    sister live",
                },
                "limit": {
                    "type": "integer",
                    "description": "Maximum number of memories",
                    "minimum": 1,
                    "maximum": MAX_LIMIT,
                    "default": DEFAULT_LIMIT,
                },
            },
            "required": ["query"],
        })
    }

    fn map_error(&self, error: Error) -> ToolExecutionError {
        tool_error(error)
    }

    async fn call(&self, arguments: SearchMemoryArgs) -> Result<Vec<FoundMemory>, Error> {
        if !(1..=MAX_LIMIT).contains(&arguments.limit) {
            let message = format!("limit is {}; it is 1 to {MAX_LIMIT}", arguments.limit);
            return Err(Error::invalid(Self::NAME, message));
        }
        let query = RecallQuery::new(arguments.query).with_limit(arguments.limit);
        let recall = self.engine.recall(&self.scope, query).await?;
        Ok(recall.hits.iter().map(FoundMemory::from).collect())
    }
}

/// The tool `add_memory`: stores a note at an address.
#[derive(Debug, Clone)]
#[must_use]
pub struct AddMemory {
    engine: MemoryEngine,
    scope: Scope,
}

/// The arguments of [`AddMemory`].
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct AddMemoryArgs {
    /// The text to remember.
    pub text: String,
}

/// The result of [`AddMemory`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AddedMemory {
    /// The id.
    pub id: String,
    /// Says that the memory waits until a person accepts it, if the engine reviews what tools store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
}

impl AddMemory {
    /// Creates the tool. Notes are stored at the address `scope`.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope }
    }
}

impl PortableTool for AddMemory {
    const NAME: &'static str = "add_memory";
    type Args = AddMemoryArgs;
    type Output = AddedMemory;
    type Error = Error;

    fn description(&self) -> String {
        "Stores something about the user, or something that was said. Searches find it at once. Store what will matter \
         later: preferences, plans, people, decisions. Do not store secrets, or anything that search_memory returned."
            .into()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "description": "The text to remember, in one or two self-contained sentences, such as: Lin is \
                                    allergic to shrimp",
                },
            },
            "required": ["text"],
        })
    }

    fn map_error(&self, error: Error) -> ToolExecutionError {
        tool_error(error)
    }

    async fn call(&self, arguments: AddMemoryArgs) -> Result<AddedMemory, Error> {
        let source = ReviewSource::Tools;
        let id = self.engine.review().remember_from(source, &self.scope, Turn::note(arguments.text)).await?;
        let waits = self.engine.settings().review_policy().mode(source) == ReviewMode::Review;
        let message = "The memory waits until a person accepts it; searches do not find it before.";
        Ok(AddedMemory { id: id.to_string(), message: waits.then_some(message) })
    }
}

/// Returns the error with its message for the model too, so that it can correct its arguments. Messages of the engine
/// contain neither secrets nor memories.
#[allow(clippy::wildcard_enum_match_arm, reason = "a model can do nothing about all other errors")]
fn tool_error(error: Error) -> ToolExecutionError {
    let kind = match error.kind() {
        ErrorKind::InvalidInput => ToolErrorKind::InvalidArgs,
        ErrorKind::NotFound => ToolErrorKind::NotFound,
        ErrorKind::Unauthorized => ToolErrorKind::PermissionDenied,
        ErrorKind::RateLimited => ToolErrorKind::RateLimited,
        ErrorKind::Timeout => ToolErrorKind::Timeout,
        _ => ToolErrorKind::Other,
    };
    ToolExecutionError::new(kind, error.to_string()).with_retryable(error.is_transient()).with_source(error)
}
