//! Events of an agent.

use memory_engine::{Error, Result};
use memory_engine_intake::prompt_words;

/// An event of an agent, independent of the agent's format.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookEvent {
    /// The kind of event.
    pub kind: HookKind,
    /// The event's name in the format of the agent.
    pub name: String,
    /// The id of the session.
    pub session: String,
    /// The folder in which the agent works, if it sends one.
    pub folder: Option<String>,
    /// The name of the project, if the event has one or a folder. It is made of the path of the folder alone; a caller
    /// on the same machine replaces it by that of [`locate_project`](crate::locate_project).
    pub project: Option<String>,
    /// The id that a prompt and the reply to it share, if the agent sends one.
    pub turn_id: Option<String>,
    /// The prompt or the reply. Empty for other events.
    pub text: String,
    /// True if a person wrote the prompt in this session: not a scheduled task, a sub-agent or another session.
    pub is_from_user: bool,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookKind {
    /// A session starts.
    SessionStart(SessionBeginning),
    /// A prompt is about to be sent to the model.
    UserPrompt,
    /// The model has replied.
    Reply,
    /// A session has ended.
    SessionEnd,
    /// Another event, which is ignored.
    Other,
}

/// The contents of a session at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionBeginning {
    /// The session is empty, or earlier parts of it have been removed.
    Empty,
    /// The session contains its earlier messages.
    Continued,
}

/// The kinds that have a name.
const NAMED_KINDS: [HookKind; 4] =
    [HookKind::SessionStart(SessionBeginning::Empty), HookKind::UserPrompt, HookKind::Reply, HookKind::SessionEnd];

impl HookKind {
    /// Returns the name: `session-start`, `user-prompt`, `stop` or `session-end`; `None` for [`HookKind::Other`].
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::SessionStart(_) => Some("session-start"),
            Self::UserPrompt => Some("user-prompt"),
            Self::Reply => Some("stop"),
            Self::SessionEnd => Some("session-end"),
            Self::Other => None,
        }
    }

    /// Returns the kind with this name: `session-start`, `user-prompt`, `stop` or `session-end`.
    ///
    /// # Errors
    /// `InvalidInput` for another name; the message lists the names.
    pub fn from_name(name: &str) -> Result<Self> {
        NAMED_KINDS.into_iter().find(|kind| kind.name() == Some(name)).ok_or_else(|| {
            let names: Vec<&str> = NAMED_KINDS.iter().filter_map(|kind| kind.name()).collect();
            Error::invalid("hook", format!("unknown event '{name}'; use one of {}", names.join(", ")))
        })
    }
}

impl HookEvent {
    /// Returns the user's words in a prompt, without what the agent has added. `None` for other events, and for a
    /// prompt of a scheduled task, a sub-agent or another session, a command, or a generated notice.
    pub fn user_words(&self) -> Option<String> {
        let is_prompt = self.kind == HookKind::UserPrompt && self.is_from_user;
        is_prompt.then(|| prompt_words(&self.text)).flatten()
    }
}
