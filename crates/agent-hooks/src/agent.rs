//! The formats of the agents.

use std::str::FromStr;

use memory_engine::{Error, Result};
use serde_json::{Map, Value, json};

use crate::{
    event::{HookEvent, HookKind, SessionBeginning},
    handler::HookAnswer,
    project::{clean_name, project_of_path},
};

/// An agent whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// The Codex command and its IDE extension.
    Codex,
    /// Cursor.
    Cursor,
    /// Another agent or a script, with the format of this crate.
    Generic,
}

/// The values of Claude Code's `source` for prompts that a person or the program of a person wrote. The others are a
/// scheduled task, a loop that wakes up, and messages of the system or of another session.
const USER_SOURCES: [&str; 2] = ["user", "sdk"];
/// The values of `source` for a session that contains its earlier messages.
const CONTINUED_SOURCES: [&str; 2] = ["resume", "fork"];

/// The names of one event: the agent's, and the kind.
type EventNames = &'static [(&'static str, HookKind)];

const CLAUDE_CODE_EVENTS: EventNames = &[
    ("SessionStart", HookKind::SessionStart(SessionBeginning::Empty)),
    ("UserPromptSubmit", HookKind::UserPrompt),
    ("Stop", HookKind::Reply),
    ("SessionEnd", HookKind::SessionEnd),
];
const CURSOR_EVENTS: EventNames = &[
    ("sessionStart", HookKind::SessionStart(SessionBeginning::Empty)),
    ("beforeSubmitPrompt", HookKind::UserPrompt),
    ("afterAgentResponse", HookKind::Reply),
    ("sessionEnd", HookKind::SessionEnd),
];
const GENERIC_EVENTS: EventNames = &[
    ("session_start", HookKind::SessionStart(SessionBeginning::Empty)),
    ("user_prompt", HookKind::UserPrompt),
    ("stop", HookKind::Reply),
    ("session_end", HookKind::SessionEnd),
];

/// The fields of an agent's events. Of several names the first that is present counts.
struct EventFormat {
    name: &'static str,
    events: EventNames,
    session: &'static [&'static str],
    /// The folder in which the agent works, or a list of folders, the first of which counts.
    folder: &'static [&'static str],
    turn_id: &'static [&'static str],
    prompt: &'static str,
    reply: &'static str,
}

const CLAUDE_CODE: EventFormat = EventFormat {
    name: "hook_event_name",
    events: CLAUDE_CODE_EVENTS,
    session: &["session_id"],
    folder: &["cwd"],
    turn_id: &["prompt_id", "turn_id"],
    prompt: "prompt",
    reply: "last_assistant_message",
};
const CURSOR: EventFormat = EventFormat {
    name: "hook_event_name",
    events: CURSOR_EVENTS,
    session: &["conversation_id", "session_id"],
    folder: &["workspace_roots", "cwd"],
    turn_id: &["generation_id"],
    prompt: "prompt",
    reply: "text",
};
const GENERIC: EventFormat = EventFormat {
    name: "event",
    events: GENERIC_EVENTS,
    session: &["session_id"],
    folder: &["cwd"],
    turn_id: &["turn_id"],
    prompt: "prompt",
    reply: "reply",
};

impl Agent {
    /// All agents.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Cursor, Self::Generic];

    /// Returns the name: `claude-code`, `codex`, `cursor` or `generic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Generic => "generic",
        }
    }

    fn format(self) -> &'static EventFormat {
        match self {
            // Codex has taken over the format of Claude Code.
            Self::ClaudeCode | Self::Codex => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::Generic => &GENERIC,
        }
    }

    /// Reads an event. With `kind` the event's own name is not needed. A blank prompt is one without words.
    ///
    /// # Errors
    /// `InvalidInput` if it is not an object, or if it names no event, no session, or has no field for its prompt.
    pub fn parse(self, kind: Option<HookKind>, input: &Value) -> Result<HookEvent> {
        let invalid = |message: String| Error::invalid("hook", message);
        let Some(object) = input.as_object() else {
            return Err(invalid("the input is not a JSON object".into()));
        };
        let format = self.format();
        let name = text_field(object, format.name);
        let Some(kind) = kind.or_else(|| Some(kind_of(format, name?))) else {
            return Err(invalid(format!("the input has no field {}, which names the event", format.name)));
        };
        let session = first_field(object, format.session).ok_or_else(|| {
            invalid(format!("the input has no field {}, which names the session", format.session.join(" or ")))
        })?;
        let is_sub_agent = object.get("agent_id").is_some_and(|id| !id.is_null()) && self != Self::Generic;
        let source = text_field(object, "source");
        let text = match kind {
            HookKind::UserPrompt => object.get(format.prompt).and_then(Value::as_str).ok_or_else(|| {
                invalid(format!("the input has no field {}, the text of the user's prompt", format.prompt))
            })?,
            // A reply without a text, such as a tool call alone, is nothing to store.
            HookKind::Reply => text_field(object, format.reply).unwrap_or_default(),
            HookKind::SessionStart(_) | HookKind::SessionEnd | HookKind::Other => "",
        };
        let is_continued = source.is_some_and(|source| CONTINUED_SOURCES.contains(&source));
        let kind = if is_sub_agent {
            HookKind::Other
        } else if is_continued && matches!(kind, HookKind::SessionStart(_)) {
            HookKind::SessionStart(SessionBeginning::Continued)
        } else {
            kind
        };
        let folder = format.folder.iter().find_map(|name| folder_field(object, name)).map(str::to_owned);
        let named = text_field(object, "project").filter(|_| self == Self::Generic).map(clean_name);
        let project = named.filter(|name| !name.is_empty()).or_else(|| folder.as_deref().map(project_of_path));
        Ok(HookEvent {
            kind,
            folder,
            project,
            name: name.unwrap_or_default().to_owned(),
            session: session.to_owned(),
            turn_id: first_field(object, format.turn_id).map(str::to_owned),
            text: text.to_owned(),
            is_from_user: !is_sub_agent && source.is_none_or(|source| USER_SOURCES.contains(&source)),
        })
    }

    /// Returns the answer in the agent's format. An empty object changes nothing.
    ///
    /// Cursor accepts a context only at the start of a session.
    pub fn response(self, event: &HookEvent, answer: &HookAnswer) -> Value {
        let context = Some(answer.context.as_str()).filter(|context| !context.is_empty());
        match (self, event.kind) {
            (Self::Generic, _) => {
                let memories: Vec<String> = answer.memories.iter().map(ToString::to_string).collect();
                json!({
                    "context": answer.context,
                    "memories": memories,
                    "stored": answer.stored.is_some(),
                    "degraded": answer.degraded,
                })
            }
            (Self::Cursor, HookKind::UserPrompt) => json!({ "continue": true }),
            (Self::Cursor, HookKind::SessionStart(_)) => {
                context.map_or_else(|| json!({}), |context| json!({ "additional_context": context }))
            }
            (Self::ClaudeCode | Self::Codex, HookKind::SessionStart(_) | HookKind::UserPrompt) => {
                let is_prompt = event.kind == HookKind::UserPrompt;
                let name = if is_prompt { "UserPromptSubmit" } else { "SessionStart" };
                context.map_or_else(
                    || json!({}),
                    |context| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }),
                )
            }
            _ => json!({}),
        }
    }
}

impl FromStr for Agent {
    type Err = Error;

    /// Parses a name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; the message lists the names.
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid("hook", format!("unknown agent '{name}'; use one of {names}"))
        })
    }
}

fn kind_of(format: &EventFormat, name: &str) -> HookKind {
    format.events.iter().find(|(known, _)| *known == name).map_or(HookKind::Other, |(_, kind)| *kind)
}

/// Returns a field with a text that is not blank.
fn text_field<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns a text, or the first text of a list, that is not blank.
fn folder_field<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o str> {
    let value = object.get(name)?;
    let first = value.as_array().and_then(|folders| folders.first());
    first.unwrap_or(value).as_str().filter(|text| !text.trim().is_empty())
}

fn first_field<'o>(object: &'o Map<String, Value>, names: &[&str]) -> Option<&'o str> {
    names.iter().find_map(|name| text_field(object, name))
}

#[cfg(test)]
mod tests;
