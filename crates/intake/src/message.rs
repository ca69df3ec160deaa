//! The decision about a whole message.

use crate::{
    boilerplate::{is_agent_command, is_generated, without_boilerplate},
    injected::without_injected,
    tasks::is_task_message,
    thoughts::without_thoughts,
};

/// The content of a message in the user's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingWords {
    /// The user's own words, without what other programs have added. Never blank.
    Own(String),
    /// A task that a client gives to the model by itself, such as a request for a title. It is passed on without
    /// memory, and stored nowhere.
    ClientTask,
    /// A message without words of the user: added by an agent, injected memories, or blank.
    Foreign,
}

impl IncomingWords {
    /// Reads a message that is one text. A text without additions is unchanged, except that NUL is removed.
    ///
    /// ```
    /// use memory_engine_intake::IncomingWords;
    ///
    /// let text = "<system-reminder>Today is Monday.</system-reminder>\nfix the parser";
    /// assert_eq!(IncomingWords::of(text), IncomingWords::Own("fix the parser".to_owned()));
    /// assert_eq!(IncomingWords::of("[Request interrupted by user]"), IncomingWords::Foreign);
    /// ```
    pub fn of(text: &str) -> Self {
        Self::of_parts([text])
    }

    /// Reads a message that consists of several texts. Agents put their additions into parts of their own, so that each
    /// part is read alone. The words of the parts are joined with line breaks.
    pub fn of_parts<'t>(parts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut words = String::new();
        for part in parts {
            let own = own_words(part);
            if !words.is_empty() && !own.is_empty() {
                words.push('\n');
            }
            words.push_str(&own);
        }
        if words.trim().is_empty() {
            return Self::Foreign;
        }
        if is_task_message(&words) { Self::ClientTask } else { Self::Own(words) }
    }

    /// Returns the user's own words; `None` for a task and for a message without such words.
    pub fn own_words(self) -> Option<String> {
        match self {
            Self::Own(words) => Some(words),
            Self::ClientTask | Self::Foreign => None,
        }
    }
}

/// Returns the user's words in a prompt of a coding agent, trimmed. `None` for a command (`/review src`), for a task,
/// and for a prompt that a program wrote.
pub fn prompt_words(prompt: &str) -> Option<String> {
    let words = IncomingWords::of(prompt).own_words().filter(|words| !is_agent_command(words))?;
    Some(words.trim().to_owned())
}

/// Returns the words of a note that a model writes: without thoughts, injected memories, and what programs added.
/// `None` if there are no others. A blank note is unchanged.
pub fn note_words(note: &str) -> Option<String> {
    if note.trim().is_empty() {
        return Some(note.to_owned());
    }
    IncomingWords::of(&model_words(note)).own_words()
}

/// Returns the user's words in a part of a message. Empty if there are none.
fn own_words(part: &str) -> String {
    let part = part.replace('\0', "");
    let text = without_injected(&without_boilerplate(&part));
    match text.trim() {
        words if is_generated(words) => String::new(),
        _ if text == part => part,
        words => words.to_owned(),
    }
}

/// Returns the words of a message of the model: without thoughts and injected memories. A text without them is
/// unchanged, except that NUL is removed.
///
/// ```
/// assert_eq!(memory_engine_intake::model_words("<think>She likes tea.</think>\nGreen tea."), "Green tea.");
/// ```
pub fn model_words(text: &str) -> String {
    let text = text.replace('\0', "");
    let words = without_injected(&without_thoughts(&text));
    if words == text { text } else { words.trim().to_owned() }
}
